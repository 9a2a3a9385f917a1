import type { Timestamp } from 'mongodb';
import { isDeepStrictEqual } from 'node:util';
import { PageAnswer } from '../page-answer.js';
import { conditionsOf, meets, type Conditions } from '../conditions.js';
import type { MarketsQuery } from '../markets-query.dto.js';
import type { Scope } from '../scope.js';
import type { CachedMarket } from './cached-market.js';
import { compareKeys } from './id-order.js';

/** What an answer or a group takes beside its text. */
const OVERHEAD_BYTES = 400;

/** What a scope takes without its markets, its places in maps included, and each character of its key. Measured. */
const SCOPE_BYTES = 1_000;
const KEY_CHARACTER_BYTES = 8;

/** How many answers are kept, for different pages and filters, and how many groups, for different filters. */
const ANSWERS_MAX = 64;

/** An answer, and the markets that it shows. */
interface MadeAnswer {
  readonly answer: PageAnswer;
  readonly markets: readonly CachedMarket[];
}

/** All markets of one event or fixture, with the answers made from them so far. */
export class CachedScope {
  /** Every change after this cluster time was applied here, and is in the history. */
  liveSince: Timestamp | undefined;
  private readonly answers = new Map<string, MadeAnswer>();
  private readonly groups = new Map<string, Buffer>();
  private readonly markets = new Map<string, CachedMarket>();
  /** The markets in the order of `_id`; made when it is asked for after a change. */
  private inOrder: readonly CachedMarket[] | undefined;
  marketsBytes = 0;

  /** @param asOf the cluster time of the state that it was made from */
  constructor(
    readonly key: Scope,
    readonly asOf: Timestamp,
    markets: readonly CachedMarket[],
  ) {
    for (const market of markets) this.put(market);
  }

  get bytes(): number {
    let bytes = SCOPE_BYTES + KEY_CHARACTER_BYTES * this.key.length + this.marketsBytes;
    for (const [key, { answer }] of this.answers) bytes += keyBytes(key) + answer.bytes;
    for (const [key, group] of this.groups) bytes += keyBytes(key) + group.length;
    return bytes;
  }

  get length(): number {
    return this.markets.size;
  }

  get(marketKey: string): CachedMarket | undefined {
    return this.markets.get(marketKey);
  }

  /** The markets that meet all conditions, in the order of `_id`. */
  matching(conditions: Conditions): readonly CachedMarket[] {
    this.inOrder ??= [...this.markets.values()].toSorted((one, other) =>
      compareKeys(one.key, other.key),
    );
    if (Object.keys(conditions).length === 0) return this.inOrder;
    return this.inOrder.filter(({ filtered }) => meets(filtered, conditions));
  }

  answer(query: MarketsQuery): PageAnswer {
    const { page, take } = query;
    const conditions = conditionsOf(query);
    const key = `${page} ${take} ${JSON.stringify(conditions)}`;
    const made =
      this.answers.get(key) ?? keep(this.answers, key, this.makeAnswer(query, conditions));
    return made.answer;
  }

  /** All its markets that meet some filters, as a group for watches; kept until any of the scope's markets changes. */
  group(key: string, make: () => Buffer): Buffer {
    return this.groups.get(key) ?? keep(this.groups, key, make());
  }

  get hasAnswers(): boolean {
    return this.answers.size + this.groups.size > 0;
  }

  /** Frees memory: answers and groups can be made again. */
  forgetAnswers(): void {
    this.answers.clear();
    this.groups.clear();
  }

  put(market: CachedMarket): void {
    const found = this.get(market.key);
    this.inOrder = undefined;
    this.marketsBytes += market.bytes - (found?.bytes ?? 0);
    if (found && isDeepStrictEqual(market.filtered, found.filtered)) {
      this.forgetAnswersWith(found);
      this.markets.set(market.key, { ...market, filteredSince: found.filteredSince });
    } else {
      this.forgetAnswers();
      this.markets.set(market.key, market);
    }
  }

  remove(marketKey: string): void {
    const found = this.get(marketKey);
    if (!found) return;
    this.inOrder = undefined;
    this.forgetAnswers();
    this.marketsBytes -= found.bytes;
    this.markets.delete(marketKey);
  }

  /** After a change that leaves every page with the same markets: forgets the answers that show this one. */
  private forgetAnswersWith(market: CachedMarket): void {
    for (const [key, { markets }] of this.answers) {
      if (markets.includes(market)) this.answers.delete(key);
    }
    this.groups.clear();
  }

  private makeAnswer(query: MarketsQuery, conditions: Conditions): MadeAnswer {
    const { page, take } = query;
    const matching = this.matching(conditions);
    const start = (page - 1) * take;
    const markets = matching.slice(start, start + take);
    const texts = markets.map(({ json }) => json);
    return { answer: new PageAnswer(query, texts, matching.length), markets };
  }
}

/** What an entry takes beside its value. A key holds all the texts that markets were filtered by. */
function keyBytes(key: string): number {
  return OVERHEAD_BYTES + 2 * key.length;
}

function keep<T>(made: Map<string, T>, key: string, value: T): T {
  if (made.size >= ANSWERS_MAX) made.clear();
  made.set(key, value);
  return value;
}
