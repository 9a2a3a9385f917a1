import { expect, it } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { createApp } from '../src/app.setup.js';
import { ChangeFeed } from '../src/change-feed/change-feed.js';
import { Config } from '../src/config.js';
import { Database } from '../src/database/database.js';
import { PastChanges } from '../src/markets/watch/past-changes.js';
import { createLogger } from '../src/telemetry/logger.js';
import { collect } from './app.js';
import { testDatabaseUri } from './mongo.js';
import { until } from './until.js';

it('reads the recent past when the connection for it is made after the feed’s own', async () => {
  const config: Config = { ...new Config(), mongodbUri: testDatabaseUri() };
  const logged: string[] = [];
  const app = await createApp(config, createLogger(config, collect(logged)));
  try {
    await until(() => app.get(ChangeFeed).isCurrent);
    const { recent } = app.get(PastChanges);
    const first = await Promise.race([recent.then(() => 'given up'), delay(500, 'waits')]);
    expect(first).toBe('waits');
    await app.get(Database).connectEventually();
    await recent;
    expect(logged.filter((line) => line.includes('is not known'))).toEqual([]);
  } finally {
    await app.close();
  }
});
