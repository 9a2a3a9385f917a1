/** Which list of markets: all of one event, or all of one fixture. */
export type Scope =
  | { readonly eventId: string; readonly fixtureId?: never }
  | { readonly fixtureId: string; readonly eventId?: never };

/** A scope as a key for maps. */
export function scopeKey({ eventId, fixtureId }: Scope): string {
  return eventId === undefined ? `fixtureId:${fixtureId}` : `eventId:${eventId}`;
}

/** The keys of all scopes that a stored market is in: MongoDB finds an array by each of its elements. */
export function scopeKeysOf(market: Readonly<Record<string, unknown>>): string[] {
  return ['eventId', 'fixtureId'].flatMap((field) =>
    [market[field]]
      .flat()
      .filter((id) => typeof id === 'string')
      .map((id) => `${field}:${id}`),
  );
}
