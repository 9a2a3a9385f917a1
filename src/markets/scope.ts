import type { Fields } from './stored-field.decorator.js';

/** The fields that markets are looked up by. */
export const SCOPE_FIELDS = ['eventId', 'fixtureId'] as const;
type ScopeField = (typeof SCOPE_FIELDS)[number];

/** Which list of markets: all that have one id in one of the fields. A text, so that it is a key of maps. */
export type Scope = `${ScopeField}:${string}`;

/** The field that the scope's markets are looked up by, and the id in it. */
export function partsOf(scope: Scope): [field: ScopeField, id: string] {
  const colon = scope.indexOf(':');
  return [scope.slice(0, colon) as ScopeField, scope.slice(colon + 1)];
}

/** The field with its id, as MongoDB and callers name a scope. */
export function filterOf(scope: Scope): { readonly [Field in ScopeField]?: string } {
  const [field, id] = partsOf(scope);
  return { [field]: id };
}

/** All scopes that a stored market is in, each once: MongoDB finds an array by each of its elements. */
export function scopesOf(market: Fields): Scope[] {
  const scopes = SCOPE_FIELDS.flatMap((field) =>
    [market[field]]
      .flat()
      .filter((id) => typeof id === 'string')
      .map((id): Scope => `${field}:${id}`),
  );
  return [...new Set(scopes)];
}
