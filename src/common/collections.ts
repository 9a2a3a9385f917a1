export const MARKETS = 'markets';
export const API_KEYS = 'api_keys';

/** The collections that the service needs. */
export const COLLECTIONS = [MARKETS, API_KEYS];
