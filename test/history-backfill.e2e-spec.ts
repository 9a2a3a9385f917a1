import { expect, it } from '@jest/globals';
import { Timestamp } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import { createApp } from '../src/app.setup.js';
import { ChangeFeed } from '../src/change-feed/change-feed.js';
import { Config } from '../src/config.js';
import { Database } from '../src/database/database.js';
import { initDatabase } from '../src/database/init.js';
import { ChangeHistory } from '../src/markets/cache/change-history.js';
import { HistoryBackfill } from '../src/markets/watch/history-backfill.js';
import { Watch } from '../src/markets/watch/watch.js';
import { createLogger } from '../src/telemetry/logger.js';
import { collect, createTestApp, type TestApp } from './app.js';
import { aMarket, store } from './factories.js';
import { testDatabaseUri } from './mongo.js';
import { until } from './until.js';

it('reads the recent past when the connection for it is made after the feed’s own', async () => {
  const config: Config = { ...new Config(), mongodbUri: testDatabaseUri() };
  const app = await createApp(config, createLogger(config, collect([])));
  try {
    await until(() => app.get(ChangeFeed).isCurrent);
    await delay(500);
    expect(app.get(HistoryBackfill).isFilling).toBe(true);
    await app.get(Database).connectEventually();
    const now = Math.floor(Date.now() / 1_000);
    await until(() => app.get(ChangeHistory).reaches(new Timestamp({ t: now - 30, i: 0 })));
  } finally {
    await app.close();
  }
});

it('is known for ten minutes after a restart: a cursor of eight minutes ago costs no reset', async () => {
  // No collection is made: that would cost one.
  const service = await createTestApp({ dbInit: false });
  try {
    const position = new Timestamp({ t: Math.floor(Date.now() / 1_000) - 500, i: 0 });
    await expectNoReset(service, position);
  } finally {
    await service.close();
  }
});

it('is known after a restart, though the database was dropped before', async () => {
  const service = await createTestApp();
  const { mongodbUri } = service.config;
  await service.database.db.dropDatabase();
  await initDatabase(service.database.connection);
  const { operationTime } = await service.database.db.command({ ping: 1 });
  await store(service.database.connection, aMarket({ eventId: 'other' }));
  await service.close();
  const restarted = await createTestApp({ mongodbUri, dbInit: false });
  try {
    await expectNoReset(restarted, operationTime);
  } finally {
    await restarted.close();
  }
});

/** Resolves when nothing is new since a cursor of this time. */
async function expectNoReset(service: TestApp, position: Timestamp): Promise<void> {
  const watch = new Watch(['eventId:e'], {}, `${service.database.connection.name}.markets`);
  const path = `/v1/markets/changes?eventId=e&since=${watch.cursorAt(position)}`;
  await until(async () => (await service.get(path)).body.data?.length === 0, 8_000);
}
