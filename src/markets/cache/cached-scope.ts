import type { Timestamp } from 'mongodb';
import { answerOf, type Answer } from '../answer.js';
import { conditionsKey, conditionsOf, meets, type Condition } from '../market.filters.js';
import type { MarketsQuery } from '../markets-query.dto.js';
import { scopeKey, type Scope } from '../scope.js';
import { afterChange, type CachedMarket } from './cached-market.js';
import { compareIds, type OrderedId } from './id-order.js';

const OVERHEAD_BYTES = 400;

/** Different pages and filters whose answers are kept, and as many bodies. */
const ANSWERS_MAX = 64;

/** All markets under one event or fixture, in the order of `_id`, with the answers made from them so far. */
export class CachedScope {
  readonly key: string;
  /** The cluster time since which every change was applied to it as it was told. */
  liveSince: Timestamp | undefined;
  private readonly answers = new Map<string, Answer>();
  private readonly bodies = new Map<string, Buffer>();
  private marketsBytes: number;

  /**
   * @param asOf the cluster time of the state that it was made from
   * @param markets in the order of `_id`
   */
  constructor(
    readonly scope: Scope,
    readonly asOf: Timestamp,
    private readonly markets: CachedMarket[],
  ) {
    this.key = scopeKey(scope);
    this.marketsBytes = markets.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  get bytes(): number {
    let bytes = OVERHEAD_BYTES + this.marketsBytes;
    for (const answer of this.answers.values()) bytes += OVERHEAD_BYTES + answer.bytes;
    for (const body of this.bodies.values()) bytes += OVERHEAD_BYTES + body.length;
    return bytes;
  }

  get ids(): OrderedId[] {
    return this.markets.map(({ id }) => id);
  }

  get length(): number {
    return this.markets.length;
  }

  has(id: OrderedId): boolean {
    return this.get(id) !== undefined;
  }

  get(id: OrderedId): CachedMarket | undefined {
    return this.find(id).found;
  }

  /** The markets that meet all conditions, in the order of `_id`. */
  matching(conditions: readonly Condition[]): readonly CachedMarket[] {
    if (conditions.length === 0) return this.markets;
    return this.markets.filter(({ filtered }) => meetsAll(filtered, conditions));
  }

  answer(query: MarketsQuery): Answer {
    const { page, take } = query;
    const key = `${page} ${take} ${conditionsKey(query)}`;
    const known = this.answers.get(key);
    if (known) return known;
    const matching = this.matching(conditionsOf(query));
    const start = (page - 1) * take;
    const texts = matching.slice(start, start + take).map(({ json }) => json);
    const answer = answerOf(query, texts, matching.length);
    if (this.answers.size >= ANSWERS_MAX) this.answers.clear();
    this.answers.set(key, answer);
    return answer;
  }

  /** What is made of its markets for something other than a page, once until they change. */
  body(key: string, make: () => Buffer): Buffer {
    const known = this.bodies.get(key);
    if (known) return known;
    const body = make();
    if (this.bodies.size >= ANSWERS_MAX) this.bodies.clear();
    this.bodies.set(key, body);
    return body;
  }

  /** What was made from the markets can be made again. */
  forgetAnswers(): void {
    this.answers.clear();
    this.bodies.clear();
  }

  put(market: CachedMarket): void {
    const { index, found } = this.find(market.id);
    this.forgetAnswers();
    this.marketsBytes += market.bytes - (found?.bytes ?? 0);
    this.markets.splice(index, found ? 1 : 0, afterChange(market, found));
  }

  remove(id: OrderedId): void {
    const { index, found } = this.find(id);
    if (!found) return;
    this.forgetAnswers();
    this.marketsBytes -= found.bytes;
    this.markets.splice(index, 1);
  }

  /** Where an id is, or where it would have to be. */
  private find(id: OrderedId): { index: number; found: CachedMarket | undefined } {
    let low = 0;
    let high = this.markets.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const market = this.markets[middle];
      if (market && compareIds(market.id, id) < 0) low = middle + 1;
      else high = middle;
    }
    const market = this.markets[low];
    return { index: low, found: market?.id.key === id.key ? market : undefined };
  }
}

export function meetsAll(
  filtered: Readonly<Record<string, unknown>>,
  conditions: readonly Condition[],
): boolean {
  return conditions.every((condition) => meets(filtered, condition));
}
