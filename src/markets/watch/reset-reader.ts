import { Injectable } from '@nestjs/common';
import { Timestamp, type Document } from 'mongodb';
import { ChangeFeed } from '../../change-feed/change-feed.js';
import { Database } from '../../database/database.js';
import type { ReadAttempt } from '../../database/read-attempt.js';
import { findScopes } from '../cache/find-scopes.js';
import { meets } from '../market.filters.js';
import { marketJson } from '../market-view.js';
import { byScopeKey, scopeKey } from '../scope.js';
import { resetGroup } from './group.js';
import { checkSizes, replicaBehind } from './watch-problems.js';
import type { WatchQuestion } from './watch-question.js';

/** The position of a cursor that later answers can't go on from. */
const NO_POSITION = new Timestamp({ t: 0, i: 0 });

/** Groups as JSON, all of one cluster time. */
export interface WatchState {
  readonly groups: readonly Buffer[];
  readonly position: Timestamp;
  /** Everything that was written before this age is in it. Milliseconds. */
  readonly ageMs: number;
}

/** Reads all of a watch from MongoDB, in one state, where memory can't answer. */
@Injectable()
export class ResetReader {
  constructor(
    private readonly database: Database,
    private readonly feed: ChangeFeed,
  ) {}

  /** @throws Problem when there is too much, or MongoDB can't answer (in time) */
  async read(question: WatchQuestion): Promise<WatchState> {
    const askedAt = performance.now();
    const { scopes, conditions } = question.watch;
    const { position, documents, ageMs } = await this.find(question);
    const byKey = byScopeKey(documents);
    checkSizes(scopes, (key) => byKey.get(key)?.length ?? 0);
    const groups = scopes.map((scope) => {
      const found = byKey.get(scopeKey(scope)) ?? [];
      const matching = found.filter((document) => meets(document, conditions));
      return resetGroup(scope, matching.map(marketJson));
    });
    return { groups, position, ageMs: ageMs + performance.now() - askedAt };
  }

  private find({ watch, after, readMs }: WatchQuestion) {
    const { scopes, conditions, fitsMemory } = watch;
    const command = findScopes(scopes, fitsMemory ? {} : conditions);
    return this.database.read(readMs, async (attempt) => {
      const { ageMs } = attempt;
      const newestWrite = await this.newestWrite(attempt);
      if (newestWrite) {
        if (after?.greaterThan(newestWrite)) throw replicaBehind();
        const readConcern = { level: 'snapshot', afterClusterTime: newestWrite };
        const { cursor } = await attempt.command({ ...command, readConcern });
        // Without a collection there is no such time.
        const position: Timestamp = cursor.atClusterTime ?? newestWrite;
        return { position, documents: await attempt.restOf(cursor), ageMs };
      }
      return {
        position: NO_POSITION,
        documents: await this.rowsNow(command, after, attempt),
        ageMs,
      };
    });
  }

  /** What a server has now, of no time that a cursor may name. */
  private rowsNow(command: Document, after: Timestamp | undefined, attempt: ReadAttempt) {
    if (attempt.isOfPrimary) return attempt.rowsOfOneState(command);
    // A secondary may be behind the caller's cursor: it waits until it is not.
    return attempt.rows({ ...command, ...(after && { readConcern: { afterClusterTime: after } }) });
  }

  /**
   * The newest write of the primary; undefined without a primary or a replica set, and while a majority lags: a
   * snapshot would wait for the majority, and a cursor must not stand for writes that may still be lost.
   */
  private async newestWrite(attempt: ReadAttempt): Promise<Timestamp | undefined> {
    if (!this.database.topology.hasSnapshots || !attempt.isOfPrimary) return undefined;
    if (this.feed.standing.lateBecause === 'majority_lags') return undefined;
    return attempt.newestWrite();
  }
}
