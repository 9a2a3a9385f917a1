import { afterAll, beforeAll, it } from '@jest/globals';
import { killImports, type Kills } from '../import-kills.js';
import { TestMongod } from '../mongo.js';
import { measurementsOf } from './measurements.js';

const KILLS = 50;
/** Side by side, each in a database of its own: an import that starts leaves a core idle. */
const DATABASES = ['first', 'second'];

const rows = measurementsOf('import killed');

let mongod: TestMongod;

beforeAll(async () => {
  mongod = await TestMongod.start();
});

afterAll(() => mongod.stop());

function uriOf(database: string): string {
  const uri = new URL(mongod.uri);
  uri.pathname = database;
  return uri.href;
}

it(
  'converges when it is run again',
  async () => {
    // Fails where a rerun leaves anything but what was imported, once each.
    const found = await Promise.all(
      DATABASES.map((name) => killImports(uriOf(name), KILLS / DATABASES.length)),
    );
    const total = (count: (kills: Kills) => number) =>
      found.reduce((sum, kills) => sum + count(kills), 0);
    const inMidst = total((kills) => kills.inMidst);
    rows.note({ seen: 'killed in its midst, same content after the rerun', measured: inMidst });
    rows.note({ seen: 'looks at all markets meanwhile', measured: total(({ looks }) => looks) });
    rows.exactly(0, {
      seen: 'half markets seen',
      measured: total(({ mixtures }) => mixtures.length),
    });
    rows.atLeast(KILLS * 0.8, { seen: 'kills before the import was done', measured: inMidst });
  },
  KILLS * 30_000,
);
