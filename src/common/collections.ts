/** The collection of the markets. */
export const MARKETS = 'markets';

/** The collection of the API keys. */
export const API_KEYS = 'api_keys';

/** Those that the service wants in its database. */
export const COLLECTIONS = [MARKETS, API_KEYS];
