import { Injectable } from '@nestjs/common';
import { InjectModel } from '@nestjs/mongoose';
import { LRUCache } from 'lru-cache';
import type { Model } from 'mongoose';
import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Problem } from '../http/problem.js';
import { Database, READ_BUDGET_MS } from '../database/database.js';
import { StoredApiKey, type ApiKey } from './api-key.schema.js';
import { keyIdOf, matchesHash } from './key-form.js';

/** Why a key is refused: for the log, never for the caller. */
export type Refusal = 'malformed' | 'unknown' | 'revoked' | 'expired';

/** A record is believed this long after the read that brought it began: a revoked key dies within it. */
const TRUST_MS = 2_000;
/** Records in use are read again this long after, all in one query, so that no request waits for it. */
const REFRESH_AFTER_MS = 1_000;
const REFRESH_AGAIN_AFTER_MS = 250;
/** Ids held in memory, some 500 bytes each; as many again that nobody has. */
const MAX_REMEMBERED = 10_000;

interface Remembered {
  readonly record: StoredApiKey;
  readonly apiKey: ApiKey;
  /** Monotonic time at which the read began. */
  readonly readAt: number;
  usedSince: boolean;
}

interface PendingRead {
  readonly ids: string[];
  readonly found: Promise<ReadonlyMap<string, Remembered>>;
}

/**
 * Tells good keys from others, in memory as far as possible. Records are remembered by id, so that memory
 * holds no key, and ids without a record apart from them, so that a flood of invented keys drives out no
 * good one.
 */
@Injectable()
export class KeyVerifier {
  private readonly known = new LRUCache<string, Remembered>({ max: MAX_REMEMBERED });
  private readonly unknown = new LRUCache<string, true>({
    max: MAX_REMEMBERED,
    ttl: TRUST_MS,
    ttlResolution: 0,
  });
  private readonly lookups = new Map<string, Promise<Remembered | undefined>>();
  private nextRead: PendingRead | undefined;
  private forgottenAt = -Infinity;
  private lastRefreshAt = -Infinity;

  constructor(
    @InjectModel(StoredApiKey.name) private readonly model: Model<StoredApiKey>,
    private readonly database: Database,
  ) {}

  /** What memory knows of a key; undefined when only MongoDB can tell. */
  recall(key: string): ApiKey | Refusal | undefined {
    const id = keyIdOf(key);
    if (!id) return 'malformed';
    const remembered = this.known.get(id);
    if (!remembered) return this.unknown.has(id) ? 'unknown' : undefined;
    const age = performance.now() - remembered.readAt;
    if (age >= TRUST_MS) return undefined;
    remembered.usedSince = true;
    if (age >= REFRESH_AFTER_MS) this.refresh();
    return judge(remembered, key);
  }

  /** Whether the key was good when its record was last read, however long ago. */
  wasGood(key: string): boolean {
    const remembered = this.known.get(keyIdOf(key) ?? '');
    return remembered !== undefined && typeof judge(remembered, key) !== 'string';
  }

  /**
   * Reads the record of a well-formed key. Requests that ask for one id at the same time share a query.
   * @throws Problem when MongoDB can't tell
   */
  async lookUp(key: string): Promise<ApiKey | Refusal> {
    const id = keyIdOf(key);
    if (!id) return 'malformed';
    const remembered = await this.readOnce(id);
    return remembered ? judge(remembered, key) : 'unknown';
  }

  /**
   * Whether a key that was good is so still, as of a second ago at most: false when it is revoked, expired or
   * gone, undefined when MongoDB can't tell. Asked often and for many keys it costs a query a second.
   */
  async recheck(id: string): Promise<boolean | undefined> {
    const remembered = this.known.get(id);
    if (remembered) remembered.usedSince = true;
    if (remembered && performance.now() - remembered.readAt < REFRESH_AFTER_MS) {
      return endOf(remembered.record) === undefined;
    }
    this.refresh();
    try {
      const found = await this.readOnce(id);
      return found !== undefined && endOf(found.record) === undefined;
    } catch {
      return remembered && endOf(remembered.record) ? false : undefined;
    }
  }

  /** Drops what is remembered of an id, and what reads that have begun will bring: its record has changed. */
  forget(id: string): void {
    this.forgottenAt = performance.now();
    this.known.delete(id);
    this.unknown.delete(id);
  }

  /** Drops what is remembered of a record that is stored otherwise now. */
  update(id: string, stored: object): void {
    const remembered = this.known.peek(id);
    this.unknown.delete(id);
    if (remembered && !isDeepStrictEqual(remembered.record, stored)) this.forget(id);
  }

  forgetAll(): void {
    this.forgottenAt = performance.now();
    this.known.clear();
    this.unknown.clear();
  }

  private readOnce(id: string): Promise<Remembered | undefined> {
    const underWay = this.lookups.get(id);
    if (underWay) return underWay;
    this.nextRead ??= this.startRead();
    this.nextRead.ids.push(id);
    const lookup = this.nextRead.found
      .then((found) => found.get(id))
      .finally(() => this.lookups.delete(id));
    this.lookups.set(id, lookup);
    return lookup;
  }

  /** One query for all ids asked for in this turn of the event loop: a thousand callers may come at once. */
  private startRead(): PendingRead {
    const ids: string[] = [];
    const found = setImmediate().then(() => {
      this.nextRead = undefined;
      return this.read(ids);
    });
    return { ids, found };
  }

  /** Reads again the keys that were used since their last read. Fails in silence: requests will tell. */
  private refresh(): void {
    const now = performance.now();
    if (now - this.lastRefreshAt < REFRESH_AGAIN_AFTER_MS) return;
    this.lastRefreshAt = now;
    for (const [id, { usedSince }] of this.known.entries()) {
      if (usedSince) this.readOnce(id).catch(() => undefined);
    }
  }

  private async read(ids: readonly string[]): Promise<ReadonlyMap<string, Remembered>> {
    const readAt = performance.now();
    const records = await this.fetch(ids);
    const found = new Map(
      records.map((record) => {
        const apiKey = publicPart(record);
        return [apiKey.id, { record, apiKey, readAt, usedSince: false }];
      }),
    );
    if (readAt > this.forgottenAt) for (const id of ids) this.remember(id, readAt, found.get(id));
    return found;
  }

  private remember(id: string, readAt: number, found: Remembered | undefined): void {
    const earlier = this.known.peek(id);
    if (earlier && earlier.readAt > readAt) return;
    if (found) {
      this.known.set(id, found);
      return;
    }
    this.known.delete(id);
    this.unknown.set(id, true);
  }

  private async fetch(ids: readonly string[]): Promise<StoredApiKey[]> {
    const filter: object = { _id: { $in: ids } };
    try {
      return await this.database.read(READ_BUDGET_MS.key, (options) =>
        this.model.collection
          .find<StoredApiKey>(filter, options)
          .batchSize(ids.length + 1)
          .toArray(),
      );
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

function publicPart({ _id: id, name, rateLimit, streams }: StoredApiKey): ApiKey {
  return {
    id,
    name,
    ...(typeof rateLimit === 'number' && { rateLimit }),
    ...(typeof streams === 'number' && { streams }),
  };
}

function judge({ record, apiKey }: Remembered, key: string): ApiKey | Refusal {
  if (!matchesHash(key, record.hash)) return 'unknown';
  return endOf(record) ?? apiKey;
}

function endOf({ revokedAt, expiresAt }: StoredApiKey): 'revoked' | 'expired' | undefined {
  if (revokedAt) return 'revoked';
  return expiresAt && expiresAt.getTime() <= Date.now() ? 'expired' : undefined;
}
