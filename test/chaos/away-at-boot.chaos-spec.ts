import { afterEach, describe, expect, it } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { generateKey } from '../../src/api-keys/key-form.js';
import { TestMongod } from '../mongo.js';
import { startProcess, storeKey, type ServerProcess } from '../services.js';
import { ConnectionTrap } from './connection-trap.js';
import { measurementsOf } from './measurements.js';
import { ask, isServed, OpenLoop, tally } from './open-loop.js';
import { lookUp } from './paths.js';

/** Some tries of each monitor. */
const TRAPPED_MS = 3_000;

const rows = measurementsOf('MongoDB away at boot');

describe('MongoDB away at boot', () => {
  let mongod: TestMongod;
  let service: ServerProcess;

  afterEach(async () => {
    await service.stop();
    await mongod.stop();
  });

  it('is told to clients until MongoDB is there', async () => {
    mongod = await TestMongod.start();
    const key = await storeKey(mongod.uri);
    await mongod.kill('SIGKILL');

    const startedAt = performance.now();
    service = await startProcess(mongod.uri, { key });
    rows.note({ seen: 'listens', measured: (performance.now() - startedAt) / 1000, unit: 's' });

    const [live, ready, data, unknown] = await Promise.all([
      ask(service, '/health/live'),
      ask(service, '/health/ready'),
      ask(service, lookUp()),
      ask({ ...service, port: service.port, key: generateKey() }, lookUp()),
    ]);
    rows.exactly('200', { seen: '/health/live', measured: told(live) });
    rows.exactly('503 database_unavailable, Retry-After: 1', {
      seen: '/health/ready',
      measured: told(ready),
    });
    rows.exactly('503 database_unavailable, Retry-After: 1', {
      seen: 'a look-up',
      measured: told(data),
    });
    expect(told(unknown)).toBe(told(data));

    const [mongodPort = 0] = mongod.ports;
    const trap = await ConnectionTrap.start(mongodPort);
    await delay(TRAPPED_MS);
    await trap.stop();
    // Two clients; a given-up connection of each may linger while the next is tried.
    rows.atMost(4, { seen: 'connects at once', measured: trap.atOnce });
    expect(trap.inAll).toBeGreaterThan(0);

    const load = new OpenLoop({ port: service.port, key, rate: 50, path: lookUp });
    const served = load.next(isServed);
    await mongod.restart();
    const answersAt = performance.now();
    const first = await served;
    const firstAt = first.at + first.tookMs;
    rows.atMost(1.5, {
      seen: 'first 200 after mongod answers',
      measured: Math.max(0, firstAt - answersAt) / 1000,
      unit: 's',
    });
    await load.next((outcome) => isServed(outcome) && outcome.at > firstAt);
    const after = load.outcomes.filter(({ at }) => at > firstAt);
    expect(tally(after)).toEqual({ 200: after.length });
    await load.stop();
  });
});

function told({ status, code, retryAfter }: Awaited<ReturnType<typeof ask>>): string {
  const text = [status, code].filter(Boolean).join(' ');
  return retryAfter ? `${text}, Retry-After: ${retryAfter}` : text;
}
