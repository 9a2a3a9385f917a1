import { byId, scopesOf, shownForm, type ModelMarket, type ScopeName } from './model-market.js';

/** One change that takes effect at once: markets that are stored from then on, or removed. */
export interface Step {
  readonly stored?: readonly ModelMarket[];
  readonly removed?: readonly ModelMarket[];
}

export interface Lookup {
  readonly scope: ScopeName;
  readonly page: number;
  readonly take: number;
  readonly marketMoment?: string;
  readonly marketType?: string;
}

/** An answer in a form to compare: each market of the page, and the meta. */
export interface Shown {
  readonly markets: readonly string[];
  readonly meta: Readonly<Record<string, unknown>>;
}

export interface Read {
  readonly lookup: Lookup;
  readonly shown: Shown;
  /** Monotonic times in milliseconds: before the request was sent, after the answer was there. */
  readonly start: number;
  readonly end: number;
}

/** How an answer stands to the history: of which age, or of no state that ever was. */
export type Verdict = { readonly staleMs: number } | { readonly staleMs?: never };

/** A state of one scope. It may have begun at `from`, and may have lasted until `until`. */
interface State {
  readonly markets: readonly ModelMarket[];
  readonly from: number;
  until: number;
}

/** States that ended longer ago than this are forgotten, in ms: an answer of such age counts as of no state. */
const REMEMBERED_MS = 60_000;

/**
 * What was true when, by the writers' own account. The instant of a write is only known to lie between its
 * sending and its acknowledgement: both the old and the new state are held possible in between.
 */
export class History {
  private readonly markets = new Map<string, ModelMarket>();
  private readonly states = new Map<ScopeName, State[]>();

  constructor(private readonly now: () => number = () => performance.now()) {}

  get current(): ModelMarket[] {
    return [...this.markets.values()];
  }

  /**
   * Notes a write that is about to be sent: its steps become true in this order.
   * @returns to be called when the write is acknowledged
   */
  begin(steps: readonly Step[]): () => void {
    const from = this.now();
    const replaced = steps.flatMap((step) => this.take(step, from));
    return () => {
      const until = this.now();
      for (const state of replaced) state.until = until;
    };
  }

  /** Judges an answer; to be called when it is there, before anything else can happen. */
  judge({ lookup, shown, start, end }: Read): Verdict {
    const states = this.states.get(lookup.scope) ?? [EVER_EMPTY];
    const state = states.findLast(({ from, markets }) => {
      return from <= end && shows(markets, lookup, shown);
    });
    return state ? { staleMs: Math.max(0, start - state.until) } : {};
  }

  private take({ stored = [], removed = [] }: Step, from: number): State[] {
    const touched = new Set<ScopeName>();
    const before = [...stored, ...removed].map(({ id }) => this.markets.get(String(id)));
    for (const { id } of removed) this.markets.delete(String(id));
    for (const market of stored) this.markets.set(String(market.id), market);
    for (const market of [...before, ...stored]) {
      if (market) for (const scope of scopesOf(market)) touched.add(scope);
    }
    const changed = new Set([...stored, ...removed].map(({ id }) => String(id)));
    return [...touched].map((scope) => {
      const states = this.states.get(scope) ?? [{ ...EVER_EMPTY }];
      const last = states.at(-1) ?? EVER_EMPTY;
      const kept = last.markets.filter(({ id }) => !changed.has(String(id)));
      const added = stored.filter((market) => scopesOf(market).includes(scope));
      const markets = [...kept, ...added].toSorted(byId);
      while (states[0] && states[0].until < from - REMEMBERED_MS) states.shift();
      states.push({ markets, from, until: Infinity });
      this.states.set(scope, states);
      return last;
    });
  }
}

const EVER_EMPTY: State = { markets: [], from: -Infinity, until: Infinity };

function shows(markets: readonly ModelMarket[], lookup: Lookup, shown: Shown): boolean {
  const { page, take, marketMoment, marketType } = lookup;
  const matching = markets.filter(
    (market) =>
      (marketMoment === undefined || market.marketMoment === marketMoment) &&
      (marketType === undefined || market.marketType === marketType),
  );
  const itemCount = matching.length;
  const pageCount = Math.ceil(itemCount / take);
  const meta = {
    page,
    take,
    itemCount,
    pageCount,
    hasPreviousPage: page > 1 && pageCount > 0,
    hasNextPage: page < pageCount,
  };
  if (Object.entries(meta).some(([name, value]) => shown.meta[name] !== value)) return false;
  if (Object.keys(shown.meta).length !== Object.keys(meta).length) return false;
  const expected = matching.slice((page - 1) * take, page * take);
  return (
    expected.length === shown.markets.length &&
    expected.every((market, index) => shownForm(market) === shown.markets[index])
  );
}
