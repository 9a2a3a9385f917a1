import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { isDeepStrictEqual } from 'node:util';
import { ChangeFeed } from '../change-feed/change-feed.js';
import type { ChangeListener, Commit } from '../change-feed/change.js';
import { API_KEYS } from '../common/collections.js';
import { isRecent, isTrusted, KeyReader, type KnownKey } from './key-reader.js';
import { faultsOf, type StoredApiKey } from './stored-api-key.js';

/** Ids held in memory, some 500 bytes each; and as many that have no record. */
const REMEMBERED_MAX = 10_000;
/** Ids that are read in the background are gathered for so long: four queries a second at most. */
const READ_LATER_MS = 250;
/** When so many ids wait for a read in the background, no unknown one is added: most of these are invented. */
const READ_LATER_MAX = 2_000;

/**
 * The records of keys, remembered by id: memory holds no key. Ids without a record are remembered apart, so that
 * a flood of invented keys drives out no good one.
 */
@Injectable()
export class KeyRecords implements ChangeListener {
  private readonly logger = new Logger(KeyRecords.name);
  private readonly known = new LRUCache<string, KnownKey>({ max: REMEMBERED_MAX });
  private readonly absent = new LRUCache<string, KnownKey>({ max: REMEMBERED_MAX });
  private readonly reads = new Map<string, Promise<KnownKey>>();
  private readonly toRead = new Set<string>();

  constructor(
    private readonly reader: KeyReader,
    feed: ChangeFeed,
  ) {
    feed.listen(API_KEYS, this);
  }

  /** What memory knows of an id, however long ago it was read; a record in use is read again in the background. */
  recall(id: string): KnownKey | undefined {
    const known = this.known.get(id);
    if (!known) return this.absent.get(id);
    if (isTrusted(known) && !isRecent(known)) this.readLater(id);
    return known;
  }

  /**
   * Reads the record of an id. All who ask for one id at the same time share a read.
   * @throws Problem when MongoDB can't tell
   */
  read(id: string): Promise<KnownKey> {
    const underWay = this.reads.get(id);
    if (underWay) return underWay;
    const read = this.reader
      .find(id)
      .then((found) => this.remember(id, found))
      .finally(() => this.reads.delete(id));
    this.reads.set(id, read);
    return read;
  }

  /**
   * Reads a record in the background, all that are asked for in a while in one query: those of keys in use, before
   * their requests have to wait; and those of limited clients, whose bad keys then cost few queries. Failures are
   * ignored: a request that needs such a record reads it itself, and fails if it can't.
   */
  readLater(id: string): void {
    if (this.reads.has(id) || this.toRead.has(id)) return;
    if (this.toRead.size >= READ_LATER_MAX && !this.known.has(id)) return;
    this.toRead.add(id);
    if (this.toRead.size > 1) return;
    setTimeout(() => {
      for (const each of this.toRead) this.read(each).catch(() => undefined);
      this.toRead.clear();
    }, READ_LATER_MS).unref();
  }

  /** Changes that are missed do no harm: records are trusted for two seconds at most, with or without a feed. */
  committed({ changes }: Commit): void {
    for (const change of changes) {
      if (change.kind === 'collectionReplaced') {
        // A read of the old collection that is under way needs no care: its result is trusted for two seconds at most.
        this.known.clear();
        this.absent.clear();
      } else {
        this.invalidate(String(change.id), change.kind === 'stored' ? change.document : undefined);
      }
    }
  }

  /** Forgets what memory knows of an id, and what a read under way finds, unless it equals the stored record. */
  invalidate(id: string, stored: object | undefined): void {
    const forget = () => {
      if (!isDeepStrictEqual(this.known.peek(id)?.record, stored)) this.known.delete(id);
      this.absent.delete(id);
    };
    forget();
    void this.reads.get(id)?.then(forget, forget);
  }

  private remember(id: string, found: KnownKey): KnownKey {
    const { record, readAt } = found;
    const earlier = this.known.peek(id);
    if (record && !isDeepStrictEqual(earlier?.record, record)) this.warnOfFaults(record);
    // A secondary may lack what the primary had when memory asked it: a new key, for one.
    if (earlier && earlier.readAt.monotonicMs > readAt.monotonicMs) return earlier;
    if (!record) this.known.delete(id);
    (record ? this.known : this.absent).set(id, found);
    return found;
  }

  private warnOfFaults(record: StoredApiKey): void {
    const faults = faultsOf(record).join(' and ');
    if (faults) this.logger.warn(`The record of key ${record._id} can't be understood: ${faults}`);
  }
}
