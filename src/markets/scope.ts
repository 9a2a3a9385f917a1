import type { Document } from 'mongodb';

/** The fields that markets are looked up by. */
export const SCOPE_FIELDS = ['eventId', 'fixtureId'] as const;
type ScopeField = (typeof SCOPE_FIELDS)[number];

/** Which list of markets: all that have one id in one of the fields. */
export type Scope = {
  [Field in ScopeField]: { readonly [Own in Field]: string } & {
    readonly [Other in Exclude<ScopeField, Field>]?: never;
  };
}[ScopeField];

/** The scope that a parameter of this name asks for; undefined if it asks for something else. */
export function scopeOf(name: string, id: string): Scope | undefined {
  const scope: Partial<Record<string, string>> = { [name]: id };
  return SCOPE_FIELDS.some((field) => field === name) ? (scope as Scope) : undefined;
}

/** The field that the scope's markets are looked up by. */
export function fieldOf(scope: Scope): ScopeField {
  const found = SCOPE_FIELDS.find((field) => scope[field] !== undefined);
  if (!found) throw new Error(`A scope has one of ${SCOPE_FIELDS.join(', ')}`);
  return found;
}

/** A scope as a key for maps. */
export function scopeKey(scope: Scope): string {
  const field = fieldOf(scope);
  return `${field}:${scope[field]}`;
}

/** The keys of all scopes that a stored market is in: MongoDB finds an array by each of its elements. */
export function scopeKeysOf(market: Readonly<Record<string, unknown>>): string[] {
  return SCOPE_FIELDS.flatMap((field) =>
    [market[field]]
      .flat()
      .filter((id) => typeof id === 'string')
      .map((id) => `${field}:${id}`),
  );
}

/** Stored markets by the keys of their scopes, in the order given. */
export function byScopeKey(markets: readonly Document[]): ReadonlyMap<string, readonly Document[]> {
  const byKey = new Map<string, Document[]>();
  for (const market of markets) {
    for (const key of scopeKeysOf(market)) {
      const own = byKey.get(key);
      if (!own) byKey.set(key, [market]);
      else if (own.at(-1) !== market) own.push(market);
    }
  }
  return byKey;
}

/** Whether the path of an update lies within an id, as in `eventId.0`: the scopes can't be known then. */
export function isInsideScopeField(path: string): boolean {
  return SCOPE_FIELDS.some((field) => path.startsWith(`${field}.`));
}
