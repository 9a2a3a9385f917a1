import { MongoClient } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import { databaseName } from '../../src/database/driver-options.js';
import { metric } from '../metric.js';
import type { TestMongod } from '../mongo.js';
import type { Fault } from './faults.js';
import { History } from './history.js';
import { Random, SEED } from '../random.js';
import { Readers } from './readers.js';
import { revokeKeys } from './revoked-keys.js';
import type { Service } from '../services.js';
import { Tally } from './tally.js';
import { Upheaval } from './upheaval.js';
import { plotOf, Writer } from './writer.js';

export interface PhaseOptions {
  /** The phase ends when so many answers are judged, but neither before nor after these times. */
  readonly reads: number;
  readonly atLeastMs?: number;
  readonly atMostMs: number;
  readonly isReplicaSet?: boolean;
  /** Write concern of the writers. By default the majority's, so that no write is undone by a new primary. */
  readonly writeConcern?: 'majority' | 1;
  /** Whether the collection is dropped, renamed and so on in between. */
  readonly upheavals?: boolean;
  /** One after the other, each several times. */
  readonly faults?: readonly Fault[];
}

/** Markets of each writer; the first has events of several pages. */
const PLOT_SIZES = [120, 24, 12];

const CONNECTIONS = 6;

/** Writes of each writer between two upheavals. */
const WRITES_IN_A_ROUND = 60;

/** A writer rests for less than this after each write, so that there is time for many reads. */
const LULL_MS = 10;

const BETWEEN_FAULTS_MS = 1_500;

/** Writes, reads and judges until enough is known. */
export async function runPhase(
  mongod: TestMongod,
  service: Service,
  options: PhaseOptions,
): Promise<Tally> {
  const { reads, atLeastMs = 0, atMostMs, isReplicaSet = true, faults = [] } = options;
  const { writeConcern = isReplicaSet ? 'majority' : 1 } = options;
  const random = new Random(SEED);
  const tally = new Tally();
  const history = new History();
  const client = new MongoClient(mongod.uri, {
    writeConcern: { w: writeConcern, journal: isReplicaSet },
    connectTimeoutMS: 1_000,
    heartbeatFrequencyMS: 500,
  });
  const name = databaseName(mongod.uri);
  await client.db(name).collection('markets').deleteMany({});
  const writers = PLOT_SIZES.map(
    (size, index) => new Writer(client, name, plotOf('abc'.charAt(index), size), history, random),
  );
  await Promise.all(writers.map((writer) => writer.refill()));
  const upheaval = new Upheaval(client.db(name), history, writers, random, isReplicaSet);
  const plots = writers.map((writer) => writer.plot);
  const hitsBefore = await hitsOf(service);
  const readers = new Readers(service, plots, history, random, CONNECTIONS, tally.count);

  const startedAt = performance.now();
  const isDone = () => {
    const passed = performance.now() - startedAt;
    return passed >= atMostMs || (passed >= atLeastMs && tally.reads >= reads);
  };
  const write = async () => {
    while (!isDone()) {
      await Promise.all(writers.map((writer) => writeRound(writer, isReplicaSet, isDone)));
      if (options.upheavals && !isDone()) await upheaval.happen();
    }
  };
  const fail = async () => {
    for (let index = 0; faults.length > 0 && !isDone(); index += 1) {
      await delay(BETWEEN_FAULTS_MS);
      const mended = tally.faultBegins();
      await faults[index % faults.length]?.({ mongod, service, random });
      mended();
    }
  };
  try {
    await Promise.all([write(), fail(), revokeKeys(service, client.db(name), tally, isDone)]);
  } finally {
    await readers.stop();
    await Promise.all(writers.map((writer) => writer.close()));
    await client.close();
  }
  tally.fromMemory = (await hitsOf(service)) - hitsBefore;
  tally.writes = writers.reduce((sum, writer) => sum + writer.writes, 0);
  return tally;
}

async function writeRound(
  writer: Writer,
  withTransactions: boolean,
  isDone: () => boolean,
): Promise<void> {
  for (let count = 0; count < WRITES_IN_A_ROUND && !isDone(); count += 1) {
    await writer.change(withTransactions);
    await delay(writer.random.below(LULL_MS));
  }
}

/** Look-ups that the service has answered from memory so far. */
const hitsOf = (service: Service) => metric(service, 'markets_cache_hits_total');
