import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Document } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import { ReadinessService } from '../src/health/readiness.service.js';
import { createTestApp, type TestApp } from './app.js';
import { aMarket, store } from './factories.js';
import { setFailCommand } from './mongo-admin.js';
import { TestMongod } from './mongo.js';
import { until } from './until.js';

const START_MS = 60_000;

let mongod: TestMongod;
let service: TestApp;

beforeAll(async () => {
  mongod = await TestMongod.start();
}, START_MS);

beforeEach(async () => {
  await service?.close();
  service = await createTestApp({ mongodbUri: mongod.uri });
});

afterAll(async () => {
  await service?.close();
  await mongod?.stop();
}, START_MS);

interface Ready {
  readonly changeFeed: { readonly state: string; readonly ageSeconds?: number };
  readonly newestChange?: { readonly at: string; readonly ageSeconds: number };
}

it.each(['/health/live', '/health/ready'])('%s is kept by nobody on the way', async (path) => {
  const { headers } = await service.getOpen(path).expect(200);
  expect(headers['cache-control']).toBe('no-store');
  expect(headers).not.toHaveProperty('etag');
});

/** What the probe says once it says what is awaited; it is 200 all the while. */
async function readyWhen(isSo: (ready: Ready) => boolean): Promise<Ready> {
  const giveUpAt = performance.now() + 10_000;
  for (;;) {
    const { body } = await service.getOpen('/health/ready').expect(200);
    if (isSo(body as Ready)) return body as Ready;
    if (performance.now() > giveUpAt) throw new Error(`Still ${JSON.stringify(body)}`);
    await delay(10);
  }
}

const readyWhenFeedIs = (state: string) =>
  readyWhen(({ changeFeed }) => changeFeed.state === state);

/** Lets commands of the service's feed fail while something happens. */
async function whileFeed(fails: Document, happens: () => Promise<unknown>): Promise<void> {
  await setFailCommand(mongod, 'alwaysOn', { failCommands: ['getMore', 'aggregate'], ...fails });
  await happens();
  await setFailCommand(mongod, 'off');
}

describe('GET /health/ready', () => {
  it('tells how old the newest change of markets is, and nothing of others', async () => {
    const { changeFeed, ...rest } = await readyWhenFeedIs('current');
    expect(changeFeed).toEqual({ state: 'current', ageSeconds: expect.any(Number) });
    expect(changeFeed.ageSeconds).toBeLessThanOrEqual(0.2);
    // The feed follows the key that was made for this test as well.
    expect(rest).toEqual({ status: 'ready' });

    const before = Date.now();
    await store(service.database.connection, aMarket());
    const after = Date.now();
    const { newestChange } = await readyWhen((ready) => ready.newestChange !== undefined);

    const at = Date.parse(newestChange?.at ?? '');
    expect(at).toBeGreaterThanOrEqual(before);
    expect(at).toBeLessThanOrEqual(after);
    expect(newestChange?.ageSeconds).toBeLessThanOrEqual((Date.now() - before) / 1_000);
  });

  it('is ready, but says so, while the feed is late or blind', async () => {
    await readyWhenFeedIs('current');
    await whileFeed({ blockConnection: true, blockTimeMS: 600 }, async () => {
      const { changeFeed } = await readyWhenFeedIs('late');
      expect(changeFeed.ageSeconds).toBeGreaterThan(0.2);
    });
    await whileFeed({ closeConnection: true }, async () => {
      const { changeFeed } = await readyWhenFeedIs('blind');
      expect(changeFeed).toEqual({ state: 'blind' });
    });
    await readyWhenFeedIs('current');
  });

  it('is not ready while servers are there but answer no reads, as metrics and log say', async () => {
    const isUp = async (value: number) => {
      const { text } = await service.getOpen('/metrics');
      return text.includes(`\nmongodb_up ${value}\n`);
    };
    const about = () => service.logged.filter((line) => line.includes('MongoDB answers'));
    await until(() => isUp(1));
    const reads = { failCommands: ['find'], blockConnection: true, blockTimeMS: 1_200 };
    await setFailCommand(mongod, 'alwaysOn', reads);
    await until(async () => (await service.getOpen('/health/ready')).status === 503);
    await until(() => isUp(0));
    await setFailCommand(mongod, 'off');
    await until(() => isUp(1));
    await service.getOpen('/health/ready').expect(200);
    expect(about()).toEqual([
      expect.stringContaining('answers no reads: 127.0.0.1:'),
      expect.stringContaining('answers reads again'),
    ]);
  });
});

it('a probe that is told of the end does not make the log say that MongoDB is away', async () => {
  service.app.get(ReadinessService).shutDown();
  await service.getOpen('/health/ready').expect(503);
  await until(() => service.logged.some((line) => line.includes('"status":503')));
  expect(service.logged.join('')).not.toContain('MongoDB is away');
});
