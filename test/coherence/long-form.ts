import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { TestMongod, type TestMongodOptions } from '../mongo.js';
import * as faults from './faults.js';
import { runPhase, type PhaseOptions } from './phase.js';
import { table } from './report.js';
import { SEED } from '../random.js';
import { startProcess, type Service } from '../services.js';
import type { Tally } from './tally.js';

interface Phase extends Pick<PhaseOptions, 'upheavals' | 'faults' | 'reads' | 'writeConcern'> {
  readonly name: string;
  readonly mongod?: TestMongodOptions;
}

const FEED_FAULTS = [
  faults.feedCut,
  faults.feedSilent,
  faults.feedRefused,
  faults.feedKilled,
  faults.feedBlind,
  faults.readsCut,
];

const PHASES: readonly Phase[] = [
  { name: 'quiet', reads: 60_000 },
  { name: 'drop, refill, rename', upheavals: true, reads: 45_000 },
  { name: 'feed cut, silent, refused', faults: FEED_FAULTS, upheavals: true, reads: 35_000 },
  { name: 'service paused', faults: [faults.servicePaused], reads: 20_000 },
  {
    name: 'MongoDB paused, killed',
    faults: [faults.mongodPaused, faults.mongodKilled],
    reads: 15_000,
  },
  { name: 'three nodes, quiet', mongod: { members: 3 }, upheavals: true, reads: 15_000 },
  {
    name: 'three nodes, failing',
    mongod: { members: 3 },
    faults: [
      faults.primaryStepsDown,
      faults.primaryPaused,
      faults.secondaryPaused,
      faults.primaryKilled,
      faults.feedCut,
    ],
    reads: 25_000,
  },
  {
    name: 'majority lags',
    mongod: { members: 2, arbiter: true },
    writeConcern: 1,
    faults: [faults.majorityLags],
    reads: 15_000,
  },
  {
    name: 'secondary lags, connections cut',
    mongod: { members: 3 },
    faults: [faults.secondaryLags],
    reads: 15_000,
  },
  { name: 'standalone', mongod: { members: 0 }, upheavals: true, reads: 15_000 },
];

/** The longest that one phase may take, in ms: on a slow machine. */
const PHASE_MS = 600_000;
const START_MS = 60_000;

const tallies = new Map<string, Tally>();

describe('coherence of answers with the database, long form', () => {
  let mongod: TestMongod | undefined;
  let service: Service | undefined;

  afterEach(async () => {
    await service?.stop();
    await mongod?.stop();
    process.stderr.write(`\n${table(tallies)}`);
  }, START_MS);

  it.each(PHASES)(
    '$name',
    async ({ name, mongod: options = {}, ...phase }) => {
      mongod = await TestMongod.start(options);
      service = await startProcess(mongod.uri);
      const isReplicaSet = options.members !== 0;
      const tally = await runPhase(mongod, service, {
        ...phase,
        isReplicaSet,
        atMostMs: PHASE_MS,
      });
      tallies.set(name, tally);
      expect({ SEED, wrong: tally.wrong }).toEqual({ SEED, wrong: [] });
      expect(tally.reads).toBeGreaterThanOrEqual(phase.reads);
    },
    PHASE_MS + START_MS,
  );

  afterAll(() => {
    process.stdout.write(`\nSeed ${SEED}\n${table(tallies)}`);
  });
});
