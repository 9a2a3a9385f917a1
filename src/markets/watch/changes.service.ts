import { Injectable } from '@nestjs/common';
import type { Timestamp } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import { writeCursor, type Cursor } from './cursor.js';
import { FeedCurrency } from './feed-currency.js';
import { groupSince } from './group.js';
import { HistoryRecorder } from './history-recorder.js';
import { PastChanges } from './past-changes.js';
import { ResetReader } from './reset-reader.js';
import type { WatchState } from './watch-state.js';
import { WatchedScopes } from './watched-scopes.js';
import type { Watch } from './watch.js';

/** So long a caller waits after a start for what is known of the time before it. Milliseconds. */
const PAST_MAX_MS = 1_500;

/** Tells what is new of a watch: from memory, or all of it from MongoDB where memory can't tell. */
@Injectable()
export class ChangesService {
  constructor(
    private readonly watched: WatchedScopes,
    private readonly currency: FeedCurrency,
    private readonly recorder: HistoryRecorder,
    private readonly past: PastChanges,
    private readonly reader: ResetReader,
  ) {}

  /**
   * The body of an answer.
   * @throws Problem when there is too much, or nothing can be told now
   */
  async answer(watch: Watch, cursor: Cursor | undefined): Promise<Buffer> {
    const { groups, position, ageMs } = await this.read(watch, cursor);
    const next = writeCursor({ position, watchHash: watch.hash });
    const meta = JSON.stringify({ cursor: next, ageMs: Math.ceil(ageMs) });
    return Buffer.from(`{"data":[${groups.join(',')}],"meta":${meta}}`);
  }

  /** Waits for what was before the process started, where a caller comes from there. */
  async knowPast(since: Timestamp | undefined): Promise<void> {
    const { begin } = this.recorder.state;
    if (!since || (begin && !since.lessThan(begin))) return;
    await Promise.race([this.past.recent, delay(PAST_MAX_MS, undefined, { ref: false })]);
  }

  private async read(watch: Watch, cursor: Cursor | undefined): Promise<WatchState> {
    const isInMemory =
      (await this.currency.reach(cursor?.position)) && (await this.watched.lease(watch));
    const since = cursor?.watchHash === watch.hash ? cursor.position : undefined;
    if (isInMemory) await this.knowPast(since);
    return (isInMemory && this.cut(watch, since)) || this.reader.read(watch, cursor?.position);
  }

  /** @returns undefined when memory can't tell after all */
  private cut(watch: Watch, since: Timestamp | undefined): WatchState | undefined {
    const { isCurrent, position, ageMs } = this.currency;
    if (!isCurrent || !position) return undefined;
    const groups: string[] = [];
    for (const key of watch.keys) {
      const scope = this.watched.get(key);
      if (!scope) return undefined;
      const group = groupSince(scope, watch.conditions, this.recorder.history, since);
      if (group) groups.push(group);
    }
    return { groups, position, ageMs };
  }
}
