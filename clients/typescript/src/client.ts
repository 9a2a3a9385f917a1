import { allMarkets } from './all-markets.js';
import {
  idNameOf,
  pathOf,
  type ChangesQuery,
  type Group,
  type PageQuery,
  type Filters,
  type Scope,
  type WatchQuery,
} from './query.js';
import { Transport, type CallOptions, type ClientOptions } from './transport.js';
import type { Changes, ChangesMeta, Market, MarketsPage } from './types.gen.js';
import { Watch, type WatchOptions } from './watch.js';

export { ConnectionLost, MarketsProblem } from './problem.js';
export type { Filters, Group, PageQuery, Scope, WatchQuery } from './query.js';
export type { CallOptions, ClientOptions } from './transport.js';
export type { Market, MarketsPage, PageMeta, RequestFault, Runner } from './types.gen.js';
export type { Watch, WatchOptions } from './watch.js';
export type { WatchEvent } from './watch-events.js';

/**
 * The odds of a Markets Odds Service. Calls throw `MarketsProblem`, `ConnectionLost` when the connection is dead, or
 * the reason of their signal.
 */
export class MarketsClient {
  readonly #transport: Transport;

  constructor(options: ClientOptions) {
    this.#transport = new Transport(options);
  }

  /** One page of the markets of a provider's event. Asked again, what did not change costs a 304. */
  byEvent(eventId: string, query: PageQuery = {}, options?: CallOptions): Promise<MarketsPage> {
    return this.#page({ eventId }, query, options);
  }

  /** One page of the markets of a fixture, of all providers. */
  byFixture(fixtureId: string, query: PageQuery = {}, options?: CallOptions): Promise<MarketsPage> {
    return this.#page({ fixtureId }, query, options);
  }

  /** All markets of a fixture or an event, each once, over all pages. */
  markets(query: Scope & Filters, options?: CallOptions): AsyncGenerator<Market> {
    // A program may use its object for another question before all pages are asked for.
    const asked = structuredClone(query);
    const inQuery = { ...asked, [idNameOf(asked)]: undefined };
    return allMarkets((page) => this.#page(asked, { ...inQuery, ...page }, options));
  }

  /** All markets of up to 50 ids in one answer and of one moment; with a cursor, only what is new since. */
  async changes(
    query: ChangesQuery,
    options?: CallOptions,
  ): Promise<{ readonly groups: readonly Group[] } & Readonly<ChangesMeta>> {
    const path = 'v1/markets/changes';
    const { data, meta } = await this.#transport.json<Changes>(path, { ...query }, options);
    return { groups: data, ...meta };
  }

  /** Follows up to 50 ids: every state and change as it comes, over cuts and restarts, until it is closed. */
  watch(query: WatchQuery, options?: WatchOptions): Watch {
    return new Watch(this.#transport, query, options);
  }

  async #page(scope: Scope, query: PageQuery, options?: CallOptions): Promise<MarketsPage> {
    return this.#transport.json(pathOf(scope), { ...query }, options);
  }
}
