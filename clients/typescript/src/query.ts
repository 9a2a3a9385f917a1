import type { ByFixtureData, ChangesGroup, ListChangesData } from './types.gen.js';

/** The ids that markets are asked for by, each with the word for it in the path of its look-up. */
const PATH_WORDS = { fixtureId: 'fixture', eventId: 'provider' } as const;
type IdName = keyof typeof PATH_WORDS;
type Ids = { readonly [Name in IdName]?: string | undefined };
export const ID_NAMES = Object.keys(PATH_WORDS) as readonly IdName[];

/** All markets of a fixture, or all of a provider's event. */
export type Scope = {
  [Name in IdName]: { readonly [Own in Name]: string } & {
    readonly [Other in Exclude<IdName, Name>]?: never;
  };
}[IdName];

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
export function pathOf(scope: Scope): string {
  const name = idNameOf(scope);
  const id = givenId(scope[name]);
  if (/^\.{0,2}$/.test(id)) throw new TypeError(`No path can hold the id "${id}"`);
  return `v1/markets/market/${PATH_WORDS[name]}/${encodeURIComponent(id)}`;
}

export function keyOf(ids: Ids): string {
  const name = idNameOf(ids);
  return `${name}:${ids[name]}`;
}

/** Of a scope without an id, which a caller without types can give, the last name: that it has no value is told then. */
export function idNameOf(ids: Ids): IdName {
  return ID_NAMES.find((name) => ids[name] !== undefined) ?? 'eventId';
}

/** @throws TypeError for what a caller without types has left out: `undefined` would be asked for by this name */
export function givenId(id: string | undefined): string {
  if (typeof id !== 'string') throw new TypeError('An id must be text');
  return id;
}
