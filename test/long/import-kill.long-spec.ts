import { expect, it } from '@jest/globals';
import { killImports } from '../import-kills.js';
import { testDatabaseUri } from '../mongo.js';

/** Into nothing and into an earlier edition; `npm run test:chaos` has many. */
const KILLS = 2;

it(
  `converges after ${KILLS} kills, and shows nobody half a market`,
  async () => {
    const { inMidst, looks, mixtures } = await killImports(testDatabaseUri(), KILLS);
    expect(inMidst).toBeGreaterThan(0);
    expect(looks).toBeGreaterThan(0);
    expect(mixtures).toEqual([]);
  },
  KILLS * 60_000,
);
