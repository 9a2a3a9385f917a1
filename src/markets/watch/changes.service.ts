import { Injectable } from '@nestjs/common';
import type { Document, Timestamp } from 'mongodb';
import { ChangeFeed } from '../../change-feed/change-feed.js';
import { groupBy } from '../../common/group-by.js';
import { Database } from '../../database/database.js';
import type { ReadAttempt } from '../../database/read-attempt.js';
import type { KeyedRequest } from '../../http/api-request.js';
import { findScopes } from '../cache/find-scopes.js';
import { meets } from '../conditions.js';
import { marketJson } from '../market-view.js';
import { scopesOf } from '../scope.js';
import { NO_POSITION } from './cursor.js';
import { groupOf, withGroups } from './group.js';
import { UnsentAnswers } from '../unsent-answers.js';
import { WatchGroups } from './watch-groups.js';
import { WatchPreparation } from './watch-preparation.js';
import { checkSizes, replicaBehind } from './watch-problems.js';
import type { WatchQuestion } from './watch-question.js';

/** Answers with what is new of a watch: from memory, else with all of it from MongoDB. */
@Injectable()
export class ChangesService {
  constructor(
    private readonly preparation: WatchPreparation,
    private readonly feed: ChangeFeed,
    private readonly groups: WatchGroups,
    private readonly database: Database,
    private readonly unsent: UnsentAnswers,
  ) {}

  /**
   * The body of an answer, piece by piece: to copy them together costs more than to send them.
   * @throws Problem when there are too many markets, too much is on its way to the key, or neither memory nor MongoDB
   * can answer (in time)
   */
  async answer(question: WatchQuestion, request: KeyedRequest): Promise<Buffer[]> {
    const unavailable = await this.preparation.prepare(question);
    this.unsent.checkRoom(request);
    // Such a cursor comes from an answer of MongoDB, which may have shown more than the feed has told since.
    const mayBeAhead = question.afterClusterTime?.equals(NO_POSITION);
    const fromMemory = unavailable || mayBeAhead ? undefined : this.fromMemory(question);
    const { groups, position, ageMs } = fromMemory ?? (await this.fromMongodb(question));
    const cursor = question.watch.cursorAt(position);
    const meta = JSON.stringify({ cursor, ageMs: Math.ceil(ageMs) });
    return withGroups('', groups, `,"meta":${meta}}`);
  }

  /** @returns undefined when the feed fell behind, or a scope was lost, since the preparation */
  private fromMemory({ watch, since }: WatchQuestion) {
    const { isCurrent, position, ageMs } = this.feed;
    if (!isCurrent || !position || !this.groups.hasAll(watch)) return undefined;
    return { groups: this.groups.groups(watch, since), position, ageMs };
  }

  /** All of a watch, in one state. */
  private async fromMongodb(question: WatchQuestion) {
    const askedAt = performance.now();
    const { scopes } = question.watch;
    const { position, markets, ageMs } = await this.read(question);
    const found = groupBy(markets.flat(), ({ scope }) => scope);
    checkSizes(scopes, (scope) => found.get(scope)?.length);
    const groups = scopes.map((scope) => {
      const texts = (found.get(scope) ?? []).flatMap(({ json }) => json ?? []);
      return groupOf(scope, texts);
    });
    return { groups, position, ageMs: ageMs + performance.now() - askedAt };
  }

  private read({ watch, afterClusterTime, readMs }: WatchQuestion) {
    // All markets of an id count for its size, so MongoDB filters only where nobody else can.
    const command = findScopes(watch.scopes, watch.isComparableInMemory ? {} : watch.conditions);
    const each = (document: Document) => {
      const json = meets(document, watch.conditions) ? marketJson(document) : undefined;
      return scopesOf(document).map((scope) => ({ scope, json }));
    };
    return this.database.read(readMs, async (attempt) => {
      const { ageMs, isOfPrimary } = attempt;
      const newestWrite = await this.newestWrite(attempt);
      if (!newestWrite) {
        // A secondary may be behind the caller's cursor: it waits until it is not.
        const waiting = afterClusterTime && !isOfPrimary && { readConcern: { afterClusterTime } };
        const documents = await attempt.rowsOfOneState({ ...command, ...waiting });
        return { position: NO_POSITION, markets: documents.map(each), ageMs };
      }
      if (afterClusterTime?.greaterThan(newestWrite)) throw replicaBehind();
      const readConcern = { level: 'snapshot', afterClusterTime: newestWrite };
      const { cursor } = await attempt.command({ ...command, readConcern });
      // Without a collection there is no such time: it may have been dropped after `newestWrite`.
      const position: Timestamp = cursor.atClusterTime ?? NO_POSITION;
      return { position, markets: await attempt.restOf(cursor, each), ageMs };
    });
  }

  /**
   * The newest write of the primary; undefined without a primary or a replica set, and while a majority lags: a
   * snapshot would wait for the majority, and a cursor must not stand for writes that may still be lost.
   */
  private async newestWrite(attempt: ReadAttempt): Promise<Timestamp | undefined> {
    if (!this.database.topology.hasSnapshots || !attempt.isOfPrimary) return undefined;
    if (this.feed.status.lateBecause === 'majority_lags') return undefined;
    return attempt.newestWrite();
  }
}
