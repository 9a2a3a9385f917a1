import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../../src/embedded-mongod/free-port.js';
import { TestMongod } from '../mongo.js';
import { startProcess, storeKey, type ServerProcess } from '../services.js';
import { Balancer } from './balancer.js';
import { measurementsOf } from './measurements.js';
import { isServed, tally, type Outcome } from './open-loop.js';
import { lookUp } from './paths.js';

const REQUESTS = 50_000;
const RESTARTS = 2;
const CLIENTS = 24;

let mongod: TestMongod;
let key: string;

beforeAll(async () => {
  mongod = await TestMongod.start();
  key = await storeKey(mongod.uri);
});

afterAll(() => mongod.stop());

function start(port: number): Promise<ServerProcess> {
  return startProcess(mongod.uri, { key, env: { PORT: String(port) } });
}

describe('rolling restart', () => {
  const rows = measurementsOf('rolling restart');

  it('loses nothing while two instances are replaced over and over', async () => {
    const ports = [await freePort(), await freePort()];
    const instances = await Promise.all(ports.map(start));
    const balancer = new Balancer(ports, key);
    const failed: Outcome[] = [];
    let sent = 0;
    let restarts = 0;
    // A fast machine has sent them before both are replaced.
    const isOver = () => sent >= REQUESTS && restarts >= RESTARTS;
    try {
      await Promise.all(ports.map((port) => balancer.whenReady(port)));
      const clients = Array.from({ length: CLIENTS }, async () => {
        while (!isOver()) {
          sent++;
          const outcome = await balancer.ask(lookUp(sent % 100));
          if (!isServed(outcome)) failed.push(outcome);
        }
      });
      for (let index = 0; !isOver(); index = 1 - index) {
        const port = ports[index] ?? 0;
        instances[index]?.kill('SIGTERM');
        expect(await instances[index]?.exited).toBe(0);
        await balancer.whenUnready(port);
        instances[index] = await start(port);
        await balancer.whenReady(port);
        restarts++;
      }
      await Promise.all(clients);
    } finally {
      await balancer.close();
      await Promise.all(instances.map((instance) => instance.stop()));
    }
    rows.note({ seen: 'requests', measured: sent });
    rows.atLeast(RESTARTS, { seen: 'restarts meanwhile', measured: restarts });
    expect(tally(failed)).toEqual({});
    rows.exactly(0, { seen: 'failed or cut', measured: failed.length });
  });
});

describe('SIGTERM', () => {
  const rows = measurementsOf('SIGTERM under load');

  it('ends at once when it comes twice', async () => {
    const service = await start(await freePort());
    const balancer = new Balancer([service.port], key);
    await balancer.whenReady(service.port);
    service.kill('SIGTERM');
    await balancer.whenUnready(service.port);
    const again = performance.now();
    service.kill('SIGTERM');
    expect(await service.exited).toBe(1);
    rows.atMost(0.5, {
      seen: 'from a second signal to the end',
      measured: (performance.now() - again) / 1000,
      unit: 's',
    });
    await balancer.close();
  });
});
