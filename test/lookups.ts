/** The two look-ups, with the name of the id in each path, so that a test can say once what both must do. */
export const LOOKUPS = [
  { route: '/v1/markets/market/provider', id: 'eventId' },
  { route: '/v1/markets/market/fixture', id: 'fixtureId' },
] as const;

export type Lookup = (typeof LOOKUPS)[number];
