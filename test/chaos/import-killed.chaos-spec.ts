import { afterAll, beforeAll, it } from '@jest/globals';
import { killImports } from '../import-kills.js';
import { TestMongod } from '../mongo.js';
import { measurementsOf } from './measurements.js';

const KILLS = 50;

const rows = measurementsOf('import killed');

let mongod: TestMongod;

beforeAll(async () => {
  mongod = await TestMongod.start();
});

afterAll(() => mongod.stop());

it(
  'converges when it is run again',
  async () => {
    // Fails where a rerun leaves anything but what was imported, once each.
    const { inMidst, looks, mixtures } = await killImports(mongod.uri, KILLS);
    rows.note({ seen: 'killed in its midst, same content after the rerun', measured: inMidst });
    rows.note({ seen: 'looks at all markets meanwhile', measured: looks });
    rows.exactly(0, { seen: 'half markets seen', measured: mixtures.length });
    rows.atLeast(KILLS * 0.8, { seen: 'kills before the import was done', measured: inMidst });
  },
  KILLS * 30_000,
);
