import type { Market } from './types.gen.js';

/** All markets of a fixture, or all of a provider's event. */
export type Scope =
  | { readonly fixtureId: string; readonly eventId?: never }
  | { readonly eventId: string; readonly fixtureId?: never };

type OneOrMore<T> = T | readonly T[];

/** Several values of one filter are alternatives; several filters must all hold. */
export interface Filters {
  readonly marketMoment?: OneOrMore<'live' | 'prelive'>;
  readonly marketType?: OneOrMore<
    'BTTS' | 'MATCH_ODDS' | 'OVER_UNDER' | 'DOUBLE_CHANCE' | 'UNDER_OVER_HT'
  >;
  /** Such as `OPEN`. */
  readonly marketStatus?: OneOrMore<string>;
  readonly provider?: OneOrMore<string>;
}

export interface PageQuery extends Filters {
  /** From 1. */
  readonly page?: number;
  /** Markets per page, 1 to 100; default 10. */
  readonly take?: number;
}

/** What to watch: 1 to 50 ids together. */
export interface WatchQuery extends Filters {
  readonly fixtureId?: OneOrMore<string>;
  readonly eventId?: OneOrMore<string>;
}

/** What is new of one id. */
export interface Group {
  readonly fixtureId?: string;
  readonly eventId?: string;
  /** Whatever you hold of this id, drop it first. */
  readonly reset: boolean;
  readonly changed: readonly Market[];
  /** `_id`s to delete. */
  readonly removed: readonly string[];
}

export function pathOf({ fixtureId, eventId }: Scope): string {
  return fixtureId === undefined
    ? `v1/markets/market/provider/${encodeURIComponent(givenId(eventId))}`
    : `v1/markets/market/fixture/${encodeURIComponent(givenId(fixtureId))}`;
}

/** @throws TypeError for what a caller without types has left out: `undefined` would be asked for by this name */
export function givenId(id: string): string {
  if (typeof id !== 'string') throw new TypeError('An id must be text');
  return id;
}
