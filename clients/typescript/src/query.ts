import type { ByFixtureData, ChangesGroup, ListChangesData } from './types.gen.js';

/** All markets of a fixture, or all of a provider's event. */
export type Scope =
  | { readonly fixtureId: string; readonly eventId?: never }
  | { readonly eventId: string; readonly fixtureId?: never };

/** A query as a program writes it: one value, or several where the service takes several. */
type Written<Query> = {
  readonly [Name in keyof Query]: Query[Name] extends (infer Value)[] | undefined
    ? Value | readonly Value[] | undefined
    : Query[Name] | undefined;
};

/** The filters, `page` from 1, and `take` from 1 to 100; default 10. */
export type PageQuery = Written<NonNullable<ByFixtureData['query']>>;

/** Several values of one filter are alternatives; several filters must all hold. */
export type Filters = Omit<PageQuery, 'page' | 'take'>;

/** 1 to 50 ids together, the filters, and with `since` only what is new since then. */
export type ChangesQuery = Written<NonNullable<ListChangesData['query']>>;

/** What to watch: 1 to 50 ids together. */
export type WatchQuery = Omit<ChangesQuery, 'since'>;

/** What is new of one id. */
export type Group = { readonly [Name in keyof ChangesGroup]: Readonly<ChangesGroup[Name]> };

/** @throws TypeError for an id that is no part of a path: a URL drops it, and another path would be asked for */
export function pathOf({ fixtureId, eventId }: Scope): string {
  const [name, id] = fixtureId === undefined ? ['provider', eventId] : ['fixture', fixtureId];
  if (/^\.{0,2}$/.test(givenId(id))) throw new TypeError(`No path can hold the id "${id}"`);
  return `v1/markets/market/${name}/${encodeURIComponent(id)}`;
}

/** @throws TypeError for what a caller without types has left out: `undefined` would be asked for by this name */
export function givenId(id: string): string {
  if (typeof id !== 'string') throw new TypeError('An id must be text');
  return id;
}
