import { Logger } from '@nestjs/common';
import { MongoServerError, ReadPreference, type Db, type Timestamp } from 'mongodb';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { LogThrottle } from '../common/log-throttle.js';
import { within } from '../common/within.js';
import { DECODING, DRIVER_OPTIONS } from './driver-options.js';
import { ReadAttempt } from './read-attempt.js';
import { problemOf, databaseTimeout, databaseUnavailable } from './read-errors.js';
import { ReadSlots } from './read-slots.js';
import type { Topology } from './topology.js';
import {
  isBrokenSocket,
  isLoggedOut,
  isRetryable,
  isTimeExpired,
  isTransient,
  isUnauthorized,
} from './mongo-errors.js';

/** How long a read may take in all, in milliseconds. `sharedPages` is a part of `markets`. */
export const READ_BUDGET_MS = { key: 500, scope: 400, markets: 900, sharedPages: 300 } as const;

/** The server gives up this long before we do, so that a slow query does not cost its connection. */
const SERVER_GIVES_UP_EARLIER_MS = 150;

/**
 * After this a second server is asked, too: the first secondary may be waiting for writes that it lacks, and a primary
 * that was lost may never answer. Milliseconds.
 */
const HEDGE_AFTER_MS = 50;

/** How many reads of more than one reply run at a time: their documents would fill memory, and take all our time. */
const LONG_READS = 2;

/** The pause before a read is tried again since a snapshot is not there yet, or a connection broke. Milliseconds. */
const AGAIN_AFTER_MS = 10;
const AGAIN_ATTEMPTS = 20;

type Operation<T> = (attempt: ReadAttempt) => Promise<T>;

/** Makes one attempt: at a secondary that has the write `after`; if none is given, at the primary. */
type Ask<T> = (after?: Timestamp) => Promise<T>;

/** Runs reads within their time, and tries again where that can help. */
export class BoundedReads {
  private readonly logger = new Logger('Database');
  private readonly refusals = new LogThrottle();
  readonly slots = new ReadSlots(DRIVER_OPTIONS.maxPoolSize);
  private readonly longReads = new ReadSlots(LONG_READS);

  constructor(
    private readonly source: { readonly db: Db },
    private readonly topology: Topology,
    private readonly logIn: () => void,
  ) {}

  async run<T>(budgetMs: number, operation: Operation<T>): Promise<T> {
    const { readable, mayBeReadable } = this.topology;
    // While no server is known, one read for each slot waits for it, and the others fail at once.
    if (!mayBeReadable || (!readable && this.slots.areAllTaken)) throw databaseUnavailable();
    const deadline = performance.now() + budgetMs;
    return this.slots.run(budgetMs - SERVER_GIVES_UP_EARLIER_MS, () =>
      this.readUntil(deadline, operation),
    );
  }

  private async readUntil<T>(deadline: number, operation: Operation<T>): Promise<T> {
    const abort = new AbortController();
    const serverDeadline = deadline - SERVER_GIVES_UP_EARLIER_MS;
    const ask = (after?: Timestamp) => this.ask(operation, abort.signal, serverDeadline, after);
    try {
      const tooLate = () => (this.topology.hasPrimary ? databaseTimeout() : databaseUnavailable());
      const work = this.tryAgain(ask, () => abort.abort());
      const answer = await within(deadline - performance.now(), work, tooLate);
      this.topology.hasAccess = true;
      return answer;
    } catch (error) {
      abort.abort();
      this.noteRefusal(error);
      throw problemOf(error);
    }
  }

  /**
   * If a server steps down or dies during a read, another is asked, once. If a snapshot is not there yet, or the driver
   * still offers a connection that is broken, the read is tried again some milliseconds later.
   * @param giveUp ends what is still being asked
   */
  private async tryAgain<T>(ask: Ask<T>, giveUp: () => void): Promise<T> {
    for (let attempts = 1; ; attempts += 1) {
      const { hasPrimary, readable } = this.topology;
      try {
        // Where no server is known now, the driver waits for the primary.
        if (!hasPrimary && readable) return await this.askSecondaries(ask);
        return await this.askPrimary(ask, giveUp);
      } catch (error) {
        const isPassing = isTransient(error) || isBrokenSocket(error);
        const isLast = attempts >= (isPassing ? AGAIN_ATTEMPTS : 2);
        if (isLast || !isRetryable(error) || !this.topology.mayBeReadable) throw error;
        if (isPassing) await delay(AGAIN_AFTER_MS);
      }
    }
  }

  /** When a primary dies, the driver may leave a command without answer or error: secondaries are asked beside it. */
  private async askPrimary<T>(ask: Ask<T>, giveUp: () => void): Promise<T> {
    const { events } = this.topology;
    const byPrimary = ask();
    let stopListening: (() => void) | undefined;
    let timer: NodeJS.Timeout | undefined;
    const bySecondaries = new Promise<T>((resolve) => {
      const askThem = () => resolve(this.askSecondaries(ask).catch(() => byPrimary));
      const whenLost = () => {
        if (this.topology.readable) timer ??= setTimeout(askThem, HEDGE_AFTER_MS);
      };
      events.on('primaryLost', whenLost);
      stopListening = () => events.off('primaryLost', whenLost);
    });
    try {
      const answer = await Promise.race([byPrimary, bySecondaries]);
      if (timer) giveUp();
      return answer;
    } finally {
      stopListening?.();
      clearTimeout(timer);
    }
  }

  /**
   * The driver takes any secondary. If that one lags, the read waits: after a while another is asked too, and a new
   * primary as soon as there is one.
   */
  private async askSecondaries<T>(ask: Ask<T>): Promise<T> {
    const { readAfterTime, newestOnSecondaries, secondariesNamePrimary } = this.topology;
    const after = readAfterTime.minimumForSecondaries(newestOnSecondaries, secondariesNamePrimary);
    const askOne = () => ask(after);
    const over = new AbortController();
    const { signal } = over;
    const later = delay(HEDGE_AFTER_MS, undefined, { signal }).then(askOne);
    const bySecondaries = Promise.any([askOne(), later]).finally(() => over.abort());
    const byPrimary = once(this.topology.events, 'primary', { signal }).then(() => ask());
    try {
      return await Promise.any([bySecondaries, byPrimary]);
    } catch (error) {
      const [fromSecondaries] = (error as AggregateError).errors;
      const [first] = fromSecondaries.errors;
      throw isTimeExpired(first) ? databaseUnavailable() : first;
    } finally {
      over.abort();
    }
  }

  private async ask<T>(
    operation: Operation<T>,
    signal: AbortSignal,
    serverDeadline: number,
    after?: Timestamp,
  ): Promise<T> {
    const { db } = this.source;
    const { newest } = this.topology.readAfterTime;
    return db.client.withSession({ causalConsistency: Boolean(after) }, (session) => {
      if (after && newest) {
        session.advanceClusterTime(newest);
        session.advanceOperationTime(after);
      }
      const readPreference = after ? ReadPreference.secondaryPreferred : ReadPreference.primary;
      const options = { session, readPreference, signal, ...DECODING };
      const { topology, longReads } = this;
      return operation(new ReadAttempt(db, options, serverDeadline, topology, longReads));
    });
  }

  private noteRefusal(error: unknown): void {
    if (!(error instanceof MongoServerError) || isTimeExpired(error)) return;
    if (isUnauthorized(error)) this.topology.hasAccess = false;
    if (isLoggedOut(error)) this.logIn();
    const text = `MongoDB refuses reads: ${error.codeName ?? error.code}`;
    this.refusals.count((count) => this.logger.error({ count }, text));
  }
}
