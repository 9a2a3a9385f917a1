import { afterEach, describe, expect, it } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { generateKey } from '../../src/api-keys/key-form.js';
import { TestMongod } from '../mongo.js';
import { startProcess, type ServerProcess } from '../services.js';
import { measurementsOf } from './measurements.js';
import { isServed, OpenLoop, quantileMs, tally, type Outcome } from './open-loop.js';
import { lookUp } from './paths.js';
import { TcpProxy } from './tcp-proxy.js';
import { until } from '../until.js';

/** How long MongoDB is silent: the driver's monitors know after some 1.5 s. */
const SILENT_MS = 10_000;
/** How long the link is slow. */
const SLOW_MS = 5_000;
/** After the contract: no answer later than this, in mid-air included. */
const BOUND_MS = 2_500;

const hanging = measurementsOf('mongod hangs (SIGSTOP)');
const cutOff = measurementsOf('network black hole');
const slow = measurementsOf('slow link');

let mongod: TestMongod;
let proxy: TcpProxy | undefined;
let service: ServerProcess;

afterEach(async () => {
  await service.stop();
  proxy?.close();
  await mongod.stop();
});

describe('mongod hangs (SIGSTOP)', () => {
  it('is told in time, and over when it goes on', async () => {
    mongod = await TestMongod.start();
    service = await startProcess(mongod.uri);
    await measureSilence(hanging, {
      begin: () => mongod.kill('SIGSTOP'),
      end: () => mongod.kill('SIGCONT'),
    });
  });
});

describe('network black hole', () => {
  it('is told in time, and over when the network is back', async () => {
    const network = await startBehindProxy();
    await measureSilence(cutOff, {
      begin: () => network.blackHole(),
      end: () => network.heal(),
    });
  });
});

describe('slow link', () => {
  it('with a moderate one, all is served', async () => {
    const network = await startBehindProxy();
    network.slowness = { delayMs: 25 };
    const startedAt = performance.now();
    await until(async () => (await fetch(`${service.url}/health/ready`)).ok);
    slow.atMost(2, {
      seen: 'ready, 50 ms a round trip',
      measured: (performance.now() - startedAt) / 1000,
      unit: 's',
    });
    const { known } = await measure(() => delay(SLOW_MS));
    slow.exactly('200', {
      seen: 'look-ups, 50 ms a round trip',
      measured: Object.keys(tally(known)).join(', '),
    });
    slow.atMost(2_000, { seen: 'slowest', measured: quantileMs(known, 1), unit: 'ms' });
  });

  it('with more than the deadline, it is told in time', async () => {
    const network = await startBehindProxy();
    const { known, strange } = await measure(async () => {
      network.slowness = { delayMs: 1_500 };
      await delay(SLOW_MS);
      network.slowness = {};
    });
    slow.atMost(BOUND_MS, {
      seen: 'slowest, 3 s a round trip',
      measured: quantileMs([...known, ...strange], 1),
      unit: 'ms',
    });
    expectOnly([...known, ...strange], ['200', '401', '503', '504']);
  });
});

/** The service speaks to its mongod through a proxy, and to no address that mongod tells. */
async function startBehindProxy(): Promise<TcpProxy> {
  mongod = await TestMongod.start();
  const [port = 0] = mongod.ports;
  proxy = await new TcpProxy(port).listen();
  const uri = new URL(mongod.uri);
  uri.port = String(proxy.port);
  uri.search = '?directConnection=true';
  service = await startProcess(uri.href);
  return proxy;
}

interface Silence {
  readonly begin: () => unknown;
  readonly end: () => unknown;
}

async function measureSilence(
  rows: ReturnType<typeof measurementsOf>,
  { begin, end }: Silence,
): Promise<void> {
  let endedAt = 0;
  let beganAt = 0;
  const { known, strange } = await measure(async () => {
    beganAt = performance.now();
    await begin();
    await delay(SILENT_MS);
    await end();
    endedAt = performance.now();
  });
  const during = (outcomes: readonly Outcome[]) =>
    outcomes.filter(({ at }) => at >= beganAt && at < endedAt);
  rows.atMost(BOUND_MS, {
    seen: 'slowest answer',
    measured: quantileMs(during(known), 1),
    unit: 'ms',
  });
  rows.atMost(BOUND_MS, {
    seen: 'slowest answer to a key never seen',
    measured: quantileMs(during(strange), 1),
    unit: 'ms',
  });
  const late = during(known).filter(({ at }) => at > beganAt + BOUND_MS);
  rows.atMost(10, {
    seen: 'p99 once it is known, 2.5 s on',
    measured: quantileMs(late, 0.99),
    unit: 'ms',
  });
  const after = known.filter((each) => isServed(each) && each.at + each.tookMs > endedAt);
  rows.atMost(1.5, {
    seen: 'first 200 after it goes on',
    measured: (Math.min(...after.map(({ at, tookMs }) => at + tookMs)) - endedAt) / 1000,
    unit: 's',
  });
  expectOnly(known, ['200', '503', '504']);
  expectOnly(strange, ['401', '503', '504']);
}

/** Look-ups with a good key, and with keys that nobody knows, while something happens and until it is over. */
async function measure(happening: () => Promise<unknown>) {
  const { port, key } = service;
  const load = new OpenLoop({ port, key, rate: 100, path: lookUp });
  const guessing = new OpenLoop({ port, key: generateKey, rate: 5, path: lookUp });
  await load.next(isServed);
  await delay(1_000);
  await happening();
  await load.next(isServed);
  await delay(500);
  const [known, strange] = await Promise.all([load.stop(), guessing.stop()]);
  return { known, strange };
}

function expectOnly(outcomes: readonly Outcome[], statuses: readonly string[]): void {
  const seen = Object.keys(tally(outcomes)).map((name) => name.split(' ')[0]);
  expect(seen.filter((status) => !statuses.includes(status ?? ''))).toEqual([]);
}
