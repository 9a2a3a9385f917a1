import type { Db } from 'mongodb';
import { onceIndexesAreBuilt } from '../mongo-admin.js';
import type { History } from './history.js';
import type { Random } from '../random.js';
import type { Writer } from './writer.js';

const MARKETS = 'markets';
const ELSEWHERE = 'markets_elsewhere';

/** Things that happen to the collection as a whole, while no writer writes. */
export class Upheaval {
  constructor(
    private readonly db: Db,
    private readonly history: History,
    private readonly writers: readonly Writer[],
    private readonly random: Random,
    private readonly isReplicaSet: boolean,
  ) {}

  async happen(): Promise<void> {
    const kinds = [
      () => this.dropAndRefill(),
      () => this.renameAwayAndBack(),
      () => this.putAnotherInPlace(),
      () => this.turnImages(this.random.chance(0.5)),
      () => this.makeIndexes(),
    ];
    await this.random.pick(kinds)();
  }

  /** As another program does it: the new collection has neither images nor indexes. */
  private async dropAndRefill(): Promise<void> {
    const acknowledged = this.history.begin([{ removed: this.history.current }]);
    await onceIndexesAreBuilt(() => this.db.collection(MARKETS).drop());
    acknowledged();
    await Promise.all(this.writers.map((writer) => writer.refill()));
  }

  private async renameAwayAndBack(): Promise<void> {
    const all = this.history.current;
    const gone = this.history.begin([{ removed: all }]);
    await onceIndexesAreBuilt(() => this.db.renameCollection(MARKETS, ELSEWHERE));
    gone();
    const back = this.history.begin([{ stored: all }]);
    // The service may have made the collection that it missed.
    await onceIndexesAreBuilt(() =>
      this.db.renameCollection(ELSEWHERE, MARKETS, { dropTarget: true }),
    );
    back();
  }

  /** What was filled under another name takes the place of the markets at once. */
  private async putAnotherInPlace(): Promise<void> {
    const all = this.history.current;
    const half = all.filter(() => this.random.chance(0.5));
    const stored = await this.db.collection(MARKETS).find().toArray();
    const kept = new Set(half.map(({ id }) => String(id)));
    const next = this.db.collection(ELSEWHERE);
    await next.insertMany(stored.filter(({ _id }) => kept.has(String(_id))));
    const acknowledged = this.history.begin([{ removed: all, stored: half }]);
    await onceIndexesAreBuilt(() =>
      this.db.renameCollection(ELSEWHERE, MARKETS, { dropTarget: true }),
    );
    acknowledged();
  }

  private async turnImages(enabled: boolean): Promise<void> {
    if (!this.isReplicaSet) return;
    const images = { collMod: MARKETS, changeStreamPreAndPostImages: { enabled } };
    await onceIndexesAreBuilt(() => this.db.command(images));
  }

  private async makeIndexes(): Promise<void> {
    const fields = ['eventId', 'fixtureId'];
    await this.db
      .collection(MARKETS)
      .createIndexes(fields.map((field) => ({ key: { [field]: 1, _id: 1 } })));
  }
}
