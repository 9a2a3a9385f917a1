import { Injectable } from '@nestjs/common';
import { ChangeFeed } from '../../change-feed/change-feed.js';
import { laterOf } from '../../change-feed/cluster-time.js';
import { within } from '../../common/within.js';
import { databaseTimeout } from '../../database/read-errors.js';
import { overloaded, type Problem } from '../../http/problem.js';
import { FewWaits } from './few-waits.js';
import { HistoryBackfill } from './history-backfill.js';
import { waitForFeed } from './wait-for-feed.js';
import { WatchLoader } from './watch-loader.js';
import { changesUnavailable, checkSizes, replicaBehind } from './watch-problems.js';
import type { WatchQuestion } from './watch-question.js';
import { WatchedScopes } from './watched-scopes.js';

/** How often scopes are loaded at most, where changes that can't be followed make each load outdated. */
const LOADS_MAX = 3;

/** How many scopes one command loads. They stay: a client whose time is too short for all gets further next time. */
const SCOPES_PER_LOAD = 10;

/** Prepares what an answer and a stream need: all of the watch is in memory, and what the caller missed is known. */
@Injectable()
export class WatchPreparation {
  private readonly waitsAhead = new FewWaits();

  constructor(
    private readonly feed: ChangeFeed,
    private readonly loader: WatchLoader,
    private readonly watched: WatchedScopes,
    private readonly backfill: HistoryBackfill,
  ) {}

  /**
   * @returns why memory can't answer, if it can't
   * @throws Problem when there are too many markets or no room for them, when MongoDB can't answer, or when this replica
   * is behind the cursor
   */
  async prepare(question: WatchQuestion): Promise<Problem | undefined> {
    const unavailable = (await this.waitUntilTold(question)) ?? (await this.load(question));
    if (!unavailable) await this.backfill.waitUntilKnown(question);
    return unavailable;
  }

  private async waitUntilTold(question: WatchQuestion): Promise<Problem | undefined> {
    const { afterClusterTime } = question;
    const isAhead = afterClusterTime && this.feed.isCurrent && this.feed.isBehind(afterClusterTime);
    if (isAhead && this.waitsAhead.isFull) throw replicaBehind();
    const told = waitForFeed(this.feed, afterClusterTime, question);
    return isAhead ? this.waitsAhead.count(told) : told;
  }

  private async load(question: WatchQuestion): Promise<Problem | undefined> {
    const { scopes, isComparableInMemory } = question.watch;
    if (!isComparableInMemory) return changesUnavailable('unordered');
    for (let loads = 0; ; loads += 1) {
      this.watched.lease(scopes);
      const missing = scopes.filter((scope) => !this.watched.get(scope));
      if (missing.length === 0) {
        checkSizes(scopes, (scope) => this.watched.get(scope)?.length);
        return this.waitForAll(question);
      }
      if (loads === LOADS_MAX) return changesUnavailable('outdated');
      for (let start = 0; start < missing.length; start += SCOPES_PER_LOAD) {
        const load = this.loader.load(missing.slice(start, start + SCOPES_PER_LOAD));
        const loaded = await within(question.readMs, load, databaseTimeout);
        checkSizes(scopes, (each) => loaded.get(each)?.count ?? this.watched.get(each)?.length);
        if ([...loaded.values()].some((each) => each?.unfit === 'unordered'))
          return changesUnavailable('unordered');
      }
    }
  }

  private async waitForAll(question: WatchQuestion): Promise<Problem | undefined> {
    const { watch } = question;
    if (!this.watched.makeRoomFor(watch)) throw overloaded();
    const times = watch.scopes.flatMap((scope) => this.watched.get(scope)?.asOf ?? []);
    // A scope that was just read may have changes that the others get when the feed tells them.
    const readAt = times.reduce((one, other) => laterOf(one, other));
    return waitForFeed(this.feed, readAt, question);
  }
}
