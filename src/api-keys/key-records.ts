import { Injectable, Logger } from '@nestjs/common';
import { InjectModel } from '@nestjs/mongoose';
import { LRUCache } from 'lru-cache';
import type { Model } from 'mongoose';
import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { elapsedMs, momentBefore, momentNow, type Moment } from '../common/moment.js';
import { Problem } from '../http/problem.js';
import { READ_BUDGET_MS } from '../database/bounded-reads.js';
import { Database } from '../database/database.js';
import { StoredApiKey } from './api-key.schema.js';
import type { Caller } from '../http/api-request.js';
import { callerOf, faultsOf } from './key-state.js';

/** A record is believed this long after the read that brought it began: a revoked key dies within it. */
const TRUST_MS = 2_000;
/** Records in use are read again this long after, all in one query, so that no request waits for it. */
const REFRESH_AFTER_MS = 1_000;
const REFRESH_AGAIN_AFTER_MS = 250;
/** Ids held in memory, some 500 bytes each; as many again that nobody has. */
const MAX_REMEMBERED = 10_000;
/** Ids of limited clients are read together this often, and at most so many. */
const READ_LATER_MS = 250;
const MAX_READ_LATER = 2_000;

/** A record as it was read last. */
export interface KnownKey {
  readonly record: StoredApiKey;
  readonly apiKey: Caller;
  /** When the record was surely so: the read began then, if a primary was asked. */
  readonly readAt: Moment;
  usedSince: boolean;
}

interface PendingRead {
  readonly ids: string[];
  readonly found: Promise<ReadonlyMap<string, KnownKey>>;
}

/**
 * The records of keys, remembered by id: memory holds no key. Ids without a record are remembered apart, so that
 * a flood of invented keys drives out no good one.
 */
@Injectable()
export class KeyRecords {
  private readonly logger = new Logger(KeyRecords.name);
  private readonly known = new LRUCache<string, KnownKey>({ max: MAX_REMEMBERED });
  private readonly absent = new LRUCache<string, true>({
    max: MAX_REMEMBERED,
    ttl: TRUST_MS,
    ttlResolution: 0,
  });
  private readonly reads = new Map<string, Promise<KnownKey | undefined>>();
  private readonly later = new Set<string>();
  /** What was stored under an id while its read was under way. */
  private readonly overtaken = new Map<string, object | undefined>();
  private nextRead: PendingRead | undefined;
  private lastRefreshAt = -Infinity;

  constructor(
    @InjectModel(StoredApiKey.name) private readonly model: Model<StoredApiKey>,
    private readonly database: Database,
  ) {}

  /** What memory knows of an id, however long ago it was read; null: nobody has it. */
  recall(id: string): KnownKey | null | undefined {
    const known = this.known.get(id);
    if (!known) return this.absent.has(id) ? null : undefined;
    known.usedSince = true;
    if (isTrusted(known) && !isRecent(known)) this.refresh();
    return known;
  }

  /**
   * Reads the record of an id. All who ask for one id at the same time share a read.
   * @throws Problem when MongoDB can't tell
   */
  read(id: string): Promise<KnownKey | undefined> {
    const underWay = this.reads.get(id);
    if (underWay) return underWay;
    this.nextRead ??= this.startRead();
    this.nextRead.ids.push(id);
    const read = this.nextRead.found
      .then((found) => found.get(id))
      .finally(() => {
        this.reads.delete(id);
        this.overtaken.delete(id);
      });
    this.reads.set(id, read);
    return read;
  }

  /** A record of a second ago at most: asked often and for many ids this costs a query a second. */
  async readRecent(id: string): Promise<KnownKey | undefined> {
    const known = this.known.get(id);
    if (known) known.usedSince = true;
    if (known && isRecent(known)) return known;
    this.refresh();
    return this.read(id);
  }

  /** Reads a record behind the requests, together with others: a client with many bad keys costs few queries. */
  readLater(id: string): void {
    if (this.later.size >= MAX_READ_LATER) return;
    this.later.add(id);
    if (this.later.size > 1) return;
    setTimeout(() => {
      const ids = [...this.later];
      this.later.clear();
      this.readInSilence(ids);
    }, READ_LATER_MS).unref();
  }

  /** Drops what is remembered of an id, and what a read that has begun will bring, unless it is what is stored now. */
  update(id: string, stored: object | undefined): void {
    if (this.reads.has(id)) this.overtaken.set(id, stored);
    if (!isDeepStrictEqual(this.known.peek(id)?.record, stored)) this.known.delete(id);
    this.absent.delete(id);
  }

  forget(id: string): void {
    this.update(id, undefined);
  }

  forgetAll(): void {
    for (const id of this.reads.keys()) this.overtaken.set(id, undefined);
    this.known.clear();
    this.absent.clear();
  }

  /** One query for all ids asked for in this turn of the event loop: a thousand callers may come at once. */
  private startRead(): PendingRead {
    const ids: string[] = [];
    const found = setImmediate().then(() => {
      this.nextRead = undefined;
      return this.readAll(ids);
    });
    return { ids, found };
  }

  /** Reads again the keys that were used since their last read. */
  private refresh(): void {
    const now = performance.now();
    if (now - this.lastRefreshAt < REFRESH_AGAIN_AFTER_MS) return;
    this.lastRefreshAt = now;
    this.readInSilence(
      [...this.known.entries()].filter(([, key]) => key.usedSince).map(([id]) => id),
    );
  }

  /** Whoever needs the records afterwards reads them, and learns what is wrong. */
  private readInSilence(ids: readonly string[]): void {
    for (const id of ids) this.read(id).catch(() => undefined);
  }

  private async readAll(ids: readonly string[]): Promise<ReadonlyMap<string, KnownKey>> {
    const began = momentNow();
    const { records, ageMs } = await this.fetch(ids);
    const readAt = momentBefore(began, ageMs);
    const found = new Map(
      records.map((record) => {
        this.warnOfFaults(record);
        const apiKey = callerOf(record);
        return [apiKey.id, { record, apiKey, readAt, usedSince: false }];
      }),
    );
    for (const id of ids) this.remember(id, readAt, found.get(id));
    return found;
  }

  private remember(id: string, readAt: Moment, found: KnownKey | undefined): void {
    if (this.overtaken.has(id) && !isDeepStrictEqual(found?.record, this.overtaken.get(id))) return;
    const earlier = this.known.peek(id);
    if (earlier && earlier.readAt.monotonicMs > readAt.monotonicMs) return;
    if (found) {
      this.known.set(id, found);
      return;
    }
    this.known.delete(id);
    const ttl = Math.ceil(TRUST_MS - elapsedMs(readAt));
    if (ttl > 0) this.absent.set(id, true, { ttl });
  }

  private warnOfFaults(record: StoredApiKey): void {
    const faults = faultsOf(record);
    if (faults.length === 0) return;
    if (isDeepStrictEqual(this.known.peek(record._id)?.record, record)) return;
    const fields = faults.join(' and ');
    this.logger.warn(`The record of key ${record._id} can't be understood: ${fields}`);
  }

  private async fetch(
    ids: readonly string[],
  ): Promise<{ readonly records: readonly StoredApiKey[]; readonly ageMs: number }> {
    const command = {
      find: this.model.collection.name,
      filter: { _id: { $in: ids } },
      batchSize: ids.length + 1,
    };
    try {
      return await this.database.read(READ_BUDGET_MS.key, async (attempt) => ({
        records: (await attempt.rows(command)) as StoredApiKey[],
        ageMs: attempt.ageMs,
      }));
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== 'database_timeout') throw error;
      // For a caller whose key can't be checked it's all the same why.
      throw new Problem(
        'database_unavailable',
        'The key cannot be checked now. Please try again.',
        {
          headers: { 'Retry-After': '1' },
        },
      );
    }
  }
}

export function isTrusted({ readAt }: KnownKey): boolean {
  return elapsedMs(readAt) < TRUST_MS;
}

function isRecent({ readAt }: KnownKey): boolean {
  return elapsedMs(readAt) < REFRESH_AFTER_MS;
}
