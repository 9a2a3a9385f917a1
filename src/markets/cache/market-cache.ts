import { Injectable, Logger } from '@nestjs/common';
import { InjectModel } from '@nestjs/mongoose';
import { LRUCache } from 'lru-cache';
import type { Timestamp } from 'mongodb';
import type { Model } from 'mongoose';
import { ChangeFeed } from '../../change-feed/change-feed.js';
import type { ChangeListener, Commit } from '../../change-feed/change.js';
import { FRESH_FOR_MS } from '../../change-feed/freshness.js';
import { Problem } from '../../http/problem.js';
import { Config } from '../../config.js';
import { Database, DRIVER_OPTIONS, READ_BUDGET_MS } from '../../database/database.js';
import type { Answer } from '../answer.js';
import { CachedScope, cachedMarketOf, type CachedMarket } from './cached-scope.js';
import { orderedIdOf, REPLACEMENT_CHARACTER } from './id-order.js';
import { MarketChange } from './market-change.js';
import { MARKET_PROJECTION } from '../market-view.js';
import { Market } from '../market.schema.js';
import type { MarketsQuery } from '../markets-query.dto.js';
import { scopeKey, type Scope } from '../scope.js';

/** A larger book costs more to keep than it saves: MongoDB cuts the page. */
const MARKETS_MAX = 2_000;

/** A scope gets a book when it is asked for again this soon: one-time look-ups shall not push out popular ones. */
const ASKED_AGAIN_WITHIN_MS = 60_000;

/** As many scopes are remembered as asked for as books of this size fit: what comes back later finds no room. */
const USUAL_SCOPE_KB = 48;

/** A scope that can't have a book is not tried again for so long. */
const LEFT_TO_MONGODB_MS = 60_000;
const LEFT_TO_MONGODB_MAX = 10_000;

/** Changes that a load waits out; if more arrive, it is given up. */
const COMMITS_DURING_LOAD_MAX = 10_000;

/** A book that grows by changes alone is weighed anew after so many bytes. */
const GROWN_BYTES = 16 * 1024;

/** A book as the cache holds it: another object for each weighing, or the cache would keep the old weight. */
interface Weighed {
  readonly book: CachedScope;
  readonly bytes: number;
}

/** A book being loaded, and what happens in the meantime. */
interface Load {
  readonly result: Promise<CachedScope | undefined>;
  readonly commits: Commit[];
  /** Changes were missed while it ran. */
  outdated: boolean;
}

/**
 * The books in memory: loaded when an event or fixture is asked for again, kept current by the change feed,
 * and asked only while the feed is known to be complete.
 */
@Injectable()
export class MarketCache implements ChangeListener {
  private readonly logger = new Logger(MarketCache.name);
  private readonly books: LRUCache<string, Weighed> | undefined;
  /** The books that hold a market, by its id: one or two, for which a set would be large. */
  private readonly holders = new Map<string, readonly CachedScope[]>();
  private readonly loads = new Map<string, Load>();
  private readonly asked: LRUCache<string, true>;
  private readonly leftToMongodb = new LRUCache<string, true>({
    max: LEFT_TO_MONGODB_MAX,
    ttl: LEFT_TO_MONGODB_MS,
  });

  constructor(
    @InjectModel(Market.name) private readonly markets: Model<Market>,
    private readonly database: Database,
    private readonly feed: ChangeFeed,
    config: Config,
  ) {
    this.asked = new LRUCache({
      max: Math.ceil((config.cacheMaxMb * 1024) / USUAL_SCOPE_KB) + 1,
      ttl: ASKED_AGAIN_WITHIN_MS,
    });
    if (config.cacheMaxMb === 0) return;
    this.books = new LRUCache<string, Weighed>({
      maxSize: config.cacheMaxMb * 1024 * 1024,
      sizeCalculation: ({ bytes }) => bytes,
      dispose: ({ book }) => this.release(book),
    });
    feed.listen(markets.collection.name, this);
  }

  /** Bytes that the books take, about. */
  get bytes(): number {
    return this.books?.calculatedSize ?? 0;
  }

  get count(): number {
    return this.books?.size ?? 0;
  }

  /** The answer from memory, if a book has it and is known to be current. */
  recall(scope: Scope, query: MarketsQuery): Answer | undefined {
    if (!this.isFresh) return undefined;
    const book = this.books?.get(scopeKey(scope))?.book;
    return book && this.answer(book, query);
  }

  /** The answer from a book that is loaded for it, if the scope is popular enough and fit for a book. */
  async recallAfterLoad(scope: Scope, query: MarketsQuery): Promise<Answer | undefined> {
    if (!this.books || !this.isFresh) return undefined;
    const key = scopeKey(scope);
    if (this.leftToMongodb.has(key) || key.includes(REPLACEMENT_CHARACTER)) return undefined;
    if (!this.asked.has(key)) {
      this.asked.set(key, true);
      return undefined;
    }
    const book = await (this.loads.get(key) ?? this.startLoad(key, scope)).result;
    return book && this.isFresh ? this.answer(book, query) : undefined;
  }

  committed(commit: Commit): void {
    for (const load of this.loads.values()) load.commits.push(commit);
    for (const change of commit.changes) this.apply(new MarketChange(change), commit.clusterTime);
  }

  forgetAll(): void {
    for (const load of this.loads.values()) load.outdated = true;
    this.books?.clear();
  }

  private get isFresh(): boolean {
    return this.feed.ageMs <= FRESH_FOR_MS;
  }

  private answer(book: CachedScope, query: MarketsQuery): Answer {
    const before = book.bytes;
    const answer = book.answer(query);
    if (book.bytes !== before) this.weigh(book);
    return answer;
  }

  /** Lets the cache know what a book that it holds has come to weigh; it may be dropped for it. */
  private weigh(book: CachedScope): void {
    if (this.books?.peek(book.key)?.book !== book) return;
    this.books.set(book.key, { book, bytes: book.bytes }, { noDisposeOnSet: true });
  }

  private apply(change: MarketChange, clusterTime: Timestamp): void {
    if (change.concernsAll) {
      this.books?.clear();
      return;
    }
    for (const book of this.concerned(change)) {
      const weighed = this.books?.peek(book.key);
      // Another book that grew may have pushed it out.
      if (weighed?.book !== book || !clusterTime.greaterThan(book.asOf)) continue;
      if (change.applyTo(book) && book.length <= MARKETS_MAX) {
        this.hold(book, change);
        if (book.bytes > weighed.bytes + GROWN_BYTES) this.weigh(book);
      } else {
        this.books?.delete(book.key);
      }
    }
  }

  /** The books that hold the market, and those that it belongs to now. */
  private concerned(change: MarketChange): Set<CachedScope> {
    const books = new Set(change.id && this.holders.get(change.id.key));
    for (const key of change.scopeKeys) {
      const book = this.books?.peek(key)?.book;
      if (book) books.add(book);
    }
    return books;
  }

  /** Notes whether a book holds a market after a change. */
  private hold(book: CachedScope, { id }: MarketChange): void {
    if (!id) return;
    this.letGo(book, id.key);
    if (book.has(id)) this.letHold(book, id.key);
  }

  private letHold(book: CachedScope, idKey: string): void {
    this.holders.set(idKey, [...(this.holders.get(idKey) ?? []), book]);
  }

  private letGo(book: CachedScope, idKey: string): void {
    const others = this.holders.get(idKey)?.filter((holder) => holder !== book) ?? [];
    if (others.length > 0) this.holders.set(idKey, others);
    else this.holders.delete(idKey);
  }

  private release(book: CachedScope): void {
    for (const { key } of book.ids) this.letGo(book, key);
  }

  private startLoad(key: string, scope: Scope): Load {
    const commits: Commit[] = [];
    const load: Load = {
      commits,
      outdated: false,
      result: this.load(scope)
        .then((book) => book && this.keep(book, load))
        .catch((error: unknown) => this.loadFailed(error))
        .finally(() => this.loads.delete(key)),
    };
    this.loads.set(key, load);
    return load;
  }

  /** Reads a whole scope from a snapshot that has everything the feed has told so far. */
  private async load(scope: Scope): Promise<CachedScope | undefined> {
    const key = scopeKey(scope);
    const afterClusterTime = this.feed.position;
    // A command does not take them from its client.
    const { readPreference, enableUtf8Validation } = DRIVER_OPTIONS;
    const reply = await this.database.read(READ_BUDGET_MS.book, ({ maxTimeMS, signal }) =>
      this.database.db.command(
        {
          find: this.markets.collection.name,
          filter: scope,
          sort: { _id: 1 },
          projection: MARKET_PROJECTION,
          limit: MARKETS_MAX + 1,
          batchSize: MARKETS_MAX + 1,
          maxTimeMS,
          readConcern: { level: 'snapshot', afterClusterTime },
        },
        { signal, readPreference, enableUtf8Validation },
      ),
    );
    const { firstBatch, id, atClusterTime, ns } = reply['cursor'];
    // There is no time to go by while there is no collection.
    if (!atClusterTime) return undefined;
    const isWhole = String(id) === '0';
    if (!isWhole) await this.killCursor(id, ns);
    const fits = isWhole && firstBatch.length <= MARKETS_MAX;
    const entries = fits ? entriesOf(firstBatch) : undefined;
    if (!entries) {
      this.leftToMongodb.set(key, true);
      return undefined;
    }
    return new CachedScope(scope, atClusterTime, entries);
  }

  /** Brings a loaded book up to date with what happened since its snapshot, and keeps it. */
  private keep(book: CachedScope, { commits, outdated }: Load): CachedScope | undefined {
    if (outdated || commits.length > COMMITS_DURING_LOAD_MAX) return undefined;
    for (const { changes, clusterTime } of commits) {
      if (!clusterTime.greaterThan(book.asOf)) continue;
      for (const change of changes.map((each) => new MarketChange(each))) {
        if (change.mayConcern(book) && !change.applyTo(book)) return undefined;
      }
    }
    this.books?.set(book.key, { book, bytes: book.bytes });
    if (this.books?.peek(book.key)?.book === book) {
      for (const { key } of book.ids) this.letHold(book, key);
    }
    return book;
  }

  /** The page is then read on its own, and says what is wrong with MongoDB if it still is. */
  private loadFailed(error: unknown): undefined {
    if (!(error instanceof Problem))
      this.logger.error({ err: error }, 'A book could not be loaded');
  }

  private async killCursor(id: unknown, namespace: string): Promise<void> {
    const collection = namespace.slice(namespace.indexOf('.') + 1);
    await this.database.db
      .command({ killCursors: collection, cursors: [id] })
      .catch(() => undefined);
  }
}

function entriesOf(documents: readonly Record<string, unknown>[]): CachedMarket[] | undefined {
  const entries: CachedMarket[] = [];
  for (const document of documents) {
    const id = orderedIdOf(document['_id']);
    if (!id) return undefined;
    entries.push(cachedMarketOf(id, document));
  }
  return entries;
}
