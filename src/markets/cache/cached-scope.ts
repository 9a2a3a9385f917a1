import type { Timestamp } from 'mongodb';
import { answerOf, type Answer } from '../answer.js';
import { compareIds, type OrderedId } from './id-order.js';
import { conditionsOf, FILTERED_FIELDS, meets } from '../market.filters.js';
import { marketJson } from '../market-view.js';
import { MARKET_MOMENTS, MARKET_TYPES } from '../market.schema.js';
import type { MarketsQuery } from '../markets-query.dto.js';
import { scopeKey, type Scope } from '../scope.js';

/** A market as a book holds it: ready to be put into an answer. */
export interface CachedMarket {
  readonly id: OrderedId;
  readonly json: string;
  /** What the filters look at. */
  readonly filtered: Readonly<Record<string, unknown>>;
}

export function cachedMarketOf(
  id: OrderedId,
  stored: Readonly<Record<string, unknown>>,
): CachedMarket {
  const filtered = Object.fromEntries(
    FILTERED_FIELDS.map((field) => [field, ourWord(stored[field])]),
  );
  return { id, json: marketJson(stored), filtered };
}

const words = new Map<unknown, string>([...MARKET_MOMENTS, ...MARKET_TYPES].map((w) => [w, w]));

/** One text for all markets, where each that was read has a copy of its own. */
function ourWord(value: unknown): unknown {
  return words.get(value) ?? value;
}

/** What a market costs beside its text, in bytes: measured with 50,000, the note of who holds it included. */
const ENTRY_OVERHEAD_BYTES = 700;
const OVERHEAD_BYTES = 400;

/** Different pages and filters that are remembered of one book. */
const ANSWERS_MAX = 64;

/** All markets under one event or fixture, in the order of `_id`, with the answers made from them so far. */
export class CachedScope {
  private readonly answers = new Map<string, Answer>();
  readonly key: string;
  private entriesBytes: number;
  private answersBytes = 0;

  /**
   * @param asOf the cluster time of the state that the book shows
   * @param entries in the order of `_id`
   */
  constructor(
    scope: Scope,
    readonly asOf: Timestamp,
    private readonly entries: CachedMarket[],
  ) {
    this.key = scopeKey(scope);
    this.entriesBytes = entries.reduce((sum, entry) => sum + bytesOf(entry), 0);
  }

  get bytes(): number {
    return OVERHEAD_BYTES + this.entriesBytes + this.answersBytes;
  }

  has(id: OrderedId): boolean {
    return this.find(id).found !== undefined;
  }

  get ids(): OrderedId[] {
    return this.entries.map(({ id }) => id);
  }

  get length(): number {
    return this.entries.length;
  }

  answer(query: MarketsQuery): Answer {
    const { page, take, marketMoment, marketType } = query;
    const key = `${page} ${take} ${marketMoment} ${marketType}`;
    const known = this.answers.get(key);
    if (known) return known;
    const answer = this.cut(query);
    if (this.answers.size >= ANSWERS_MAX) this.forgetAnswers();
    this.answers.set(key, answer);
    this.answersBytes += OVERHEAD_BYTES + answer.body.length;
    return answer;
  }

  put(entry: CachedMarket): void {
    const { index, found } = this.find(entry.id);
    this.forgetAnswers();
    this.entriesBytes += bytesOf(entry) - bytesOf(found);
    this.entries.splice(index, found ? 1 : 0, entry);
  }

  remove(id: OrderedId): void {
    const { index, found } = this.find(id);
    if (!found) return;
    this.forgetAnswers();
    this.entriesBytes -= bytesOf(found);
    this.entries.splice(index, 1);
  }

  private cut(query: MarketsQuery): Answer {
    const conditions = conditionsOf(query);
    const matching =
      conditions.length === 0
        ? this.entries
        : this.entries.filter(({ filtered }) =>
            conditions.every((condition) => meets(filtered, condition)),
          );
    const start = (query.page - 1) * query.take;
    const page = matching.slice(start, start + query.take).map(({ json }) => json);
    return answerOf(query, page, matching.length);
  }

  private forgetAnswers(): void {
    this.answers.clear();
    this.answersBytes = 0;
  }

  /** Where an id is, or where it would have to be. */
  private find(id: OrderedId): { index: number; found: CachedMarket | undefined } {
    let low = 0;
    let high = this.entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const entry = this.entries[middle];
      if (entry && compareIds(entry.id, id) < 0) low = middle + 1;
      else high = middle;
    }
    const entry = this.entries[low];
    return { index: low, found: entry?.id.key === id.key ? entry : undefined };
  }
}

function bytesOf(entry: CachedMarket | undefined): number {
  return entry ? ENTRY_OVERHEAD_BYTES + entry.json.length : 0;
}
