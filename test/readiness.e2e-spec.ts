import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DRIVER_OPTIONS } from '../src/database/driver-options.js';
import { createTestApp, type TestApp } from './app.js';
import { TestMongod } from './mongo.js';
import { setFailCommand } from './mongo-admin.js';

describe('GET /health/ready', () => {
  let mongod: TestMongod;
  let service: TestApp;

  beforeEach(async () => {
    mongod = await TestMongod.start();
    service = await createTestApp({ mongodbUri: mongod.uri, cacheMaxMb: 0 });
  });

  afterEach(async () => {
    await service.close();
    await mongod.stop();
  });

  it('says yes while all connections are busy: MongoDB is there', async () => {
    const data = { failCommands: ['aggregate'], blockConnection: true, blockTimeMS: 600 };
    await setFailCommand(mongod, 'alwaysOn', data);
    const lookUps = Array.from({ length: 2 * DRIVER_OPTIONS.maxPoolSize }, (_, index) =>
      service.get(`/v1/markets/market/provider/${index}`),
    );
    const answers = lookUps.map(async (lookUp) => (await lookUp).body.code as unknown);
    // Some wait for a connection in vain: the others keep theirs for a while.
    await Promise.any(answers.map(async (code) => expect(await code).toBe('overloaded')));
    const { status, body } = await service.getOpen('/health/ready');
    expect({ status, body }).toMatchObject({ status: 200, body: { status: 'ready' } });
    await Promise.all(answers);
  });
});
