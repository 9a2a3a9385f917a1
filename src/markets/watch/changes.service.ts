import { Injectable } from '@nestjs/common';
import { writeCursor } from './cursor.js';
import { FeedCurrency } from './feed-currency.js';
import { withGroups } from './group.js';
import { ResetReader, type WatchState } from './reset-reader.js';
import { WatchCuts } from './watch-cuts.js';
import { WatchOpening } from './watch-opening.js';
import type { WatchQuestion } from './watch-question.js';

/** Tells what is new of a watch: from memory, or all of it from MongoDB where memory can't tell. */
@Injectable()
export class ChangesService {
  constructor(
    private readonly opening: WatchOpening,
    private readonly currency: FeedCurrency,
    private readonly cuts: WatchCuts,
    private readonly reader: ResetReader,
  ) {}

  /**
   * The body of an answer.
   * @throws Problem when there is too much, or nothing can be told now
   */
  async answer(question: WatchQuestion): Promise<Buffer> {
    const untold = await this.opening.open(question);
    const fromMemory = untold ? undefined : this.cut(question);
    const { groups, position, ageMs } = fromMemory ?? (await this.reader.read(question));
    const cursor = writeCursor({ position, watchHash: question.watch.hash });
    const meta = JSON.stringify({ cursor, ageMs: Math.ceil(ageMs) });
    return withGroups('', groups, `,"meta":${meta}}`);
  }

  /** @returns undefined when memory can't tell after all */
  private cut({ watch, since }: WatchQuestion): WatchState | undefined {
    const { isCurrent, position, ageMs } = this.currency;
    if (!isCurrent || !position || !this.cuts.canCut(watch)) return undefined;
    return { groups: this.cuts.groups(watch, since), position, ageMs };
  }
}
