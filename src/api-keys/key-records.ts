import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { isDeepStrictEqual } from 'node:util';
import type { StoredApiKey } from './api-key.schema.js';
import { KeyReader, type FoundKey } from './key-reader.js';
import { callerOf, faultsOf } from './key-state.js';
import { isRecent, isTrusted, type KnownKey } from './known-key.js';

/** Keys in use are read again at most this often, even when reads fail. */
const REFRESH_AGAIN_AFTER_MS = 250;
/** Ids held in memory, some 500 bytes each; and as many that have no record. */
const MAX_REMEMBERED = 10_000;
/** Ids of limited clients are read together this often, and at most so many. */
const READ_LATER_MS = 250;
const MAX_READ_LATER = 2_000;

/**
 * The records of keys, remembered by id: memory holds no key. Ids without a record are remembered apart, so that
 * a flood of invented keys drives out no good one.
 */
@Injectable()
export class KeyRecords {
  private readonly logger = new Logger(KeyRecords.name);
  private readonly known = new LRUCache<string, KnownKey>({ max: MAX_REMEMBERED });
  private readonly absent = new LRUCache<string, FoundKey>({ max: MAX_REMEMBERED });
  private readonly reads = new Map<string, Promise<KnownKey | undefined>>();
  private readonly later = new Set<string>();
  /** What was stored under an id while its read was under way. */
  private readonly overtaken = new Map<string, object | undefined>();
  private lastRefreshAt = -Infinity;

  constructor(private readonly reader: KeyReader) {}

  /** What memory knows of an id, however long ago it was read; null: it has no record. */
  recall(id: string): KnownKey | null | undefined {
    const known = this.known.get(id);
    if (known) {
      known.usedSince = true;
      if (isTrusted(known) && !isRecent(known)) this.refresh();
      return known;
    }
    const absent = this.absent.get(id);
    return absent && isTrusted(absent) ? null : undefined;
  }

  /**
   * Reads the record of an id. All who ask for one id at the same time share a read.
   * @throws Problem when MongoDB can't tell
   */
  read(id: string): Promise<KnownKey | undefined> {
    const underWay = this.reads.get(id);
    if (underWay) return underWay;
    const read = this.reader
      .find(id)
      .then((found) => this.remember(id, found))
      .finally(() => {
        this.reads.delete(id);
        this.overtaken.delete(id);
      });
    this.reads.set(id, read);
    return read;
  }

  /** A record that is a second old at most. However often and for however many ids, this costs a query a second. */
  async readRecent(id: string): Promise<KnownKey | undefined> {
    const known = this.known.get(id);
    if (known) known.usedSince = true;
    if (known && isRecent(known)) return known;
    this.refresh();
    return this.read(id);
  }

  /** Reads a record in the background, together with others, so that a client with many bad keys costs few queries. */
  readLater(id: string): void {
    if (this.later.size >= MAX_READ_LATER) return;
    this.later.add(id);
    if (this.later.size > 1) return;
    setTimeout(() => {
      const ids = [...this.later];
      this.later.clear();
      this.readInBackground(ids);
    }, READ_LATER_MS).unref();
  }

  /** Forgets an id, and whatever a read under way finds for it, unless that is what is stored now. */
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

  /** Reads again the keys that were used since their last read. */
  private refresh(): void {
    const now = performance.now();
    if (now - this.lastRefreshAt < REFRESH_AGAIN_AFTER_MS) return;
    this.lastRefreshAt = now;
    this.readInBackground(
      [...this.known.entries()].filter(([, key]) => key.usedSince).map(([id]) => id),
    );
  }

  /** Ignores failures: a request that needs such a record reads it itself, and fails if it can't. */
  private readInBackground(ids: readonly string[]): void {
    for (const id of ids) this.read(id).catch(() => undefined);
  }

  private remember(id: string, read: FoundKey): KnownKey | undefined {
    const { record, readAt } = read;
    const found = record && { record, apiKey: callerOf(record), readAt, usedSince: false };
    if (record) this.warnOfFaults(record);
    if (this.overtaken.has(id) && !isDeepStrictEqual(record, this.overtaken.get(id))) return found;
    const earlier = this.known.peek(id);
    if (earlier && earlier.readAt.monotonicMs > readAt.monotonicMs) return found;
    if (found) {
      this.known.set(id, found);
    } else {
      this.known.delete(id);
      this.absent.set(id, read);
    }
    return found;
  }

  private warnOfFaults(record: StoredApiKey): void {
    const faults = faultsOf(record);
    if (faults.length === 0) return;
    if (isDeepStrictEqual(this.known.peek(record._id)?.record, record)) return;
    const fields = faults.join(' and ');
    this.logger.warn(`The record of key ${record._id} can't be understood: ${fields}`);
  }
}
