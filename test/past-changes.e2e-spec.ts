import { expect, it } from '@jest/globals';
import { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { createApp } from '../src/app.setup.js';
import { ChangeFeed } from '../src/change-feed/change-feed.js';
import { Config } from '../src/config.js';
import { Database } from '../src/database/database.js';
import { PastChanges } from '../src/markets/watch/past-changes.js';
import { createLogger } from '../src/telemetry/logger.js';
import { testDatabaseUri } from './mongo.js';
import { until } from './until.js';

it('reads the recent past when the connection for it is made after the feed’s own', async () => {
  const config: Config = { ...new Config(), mongodbUri: testDatabaseUri() };
  const logged: string[] = [];
  const output = new Writable({
    write(line: Buffer, _encoding, done) {
      logged.push(line.toString());
      done();
    },
  });
  const app = await createApp(config, createLogger(config, output));
  try {
    await app.init();
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
