/** The collection of the markets. */
export const MARKETS = 'markets';
