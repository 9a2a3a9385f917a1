import { MarketSchema } from '../src/markets/market.schema.js';

/** The names of the indexes of markets, in the order in which they are made; `test/explain` says what each is. */
export const MARKET_INDEXES = MarketSchema.indexes().map(([, { name = '' }]) => name);
