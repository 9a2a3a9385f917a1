import { afterEach, beforeEach, describe, it } from '@jest/globals';
import { MongoClient, ObjectId } from 'mongodb';
import { aMarket } from '../factories.js';
import { metric } from '../metric.js';
import { TestMongod } from '../mongo.js';
import { startProcess, storeKey, type ServerProcess } from '../services.js';
import { measurementsOf } from './measurements.js';
import { ask, isServed, OpenLoop, tally } from './open-loop.js';
import { lookUp } from './paths.js';
import { until } from '../until.js';

const rows = measurementsOf('clock jump');
const JUMPS = ['an hour ahead', 'an hour behind', 'back again'];
const LIMIT = 3;
/** Longer than a key is trusted without word from MongoDB. */
const TRUST_IS_OVER_MS = 2_500;

describe('clock jump', () => {
  let mongod: TestMongod;
  let service: ServerProcess;
  let client: MongoClient;

  beforeEach(async () => {
    mongod = await TestMongod.start();
    client = new MongoClient(mongod.uri);
    const clock = new URL('clock.js', import.meta.url).href;
    service = await startProcess(mongod.uri, { nodeArgs: ['--import', clock] });
  });

  afterEach(async () => {
    await client.close();
    await service.stop();
    await mongod.stop();
  });

  it('changes nothing for keys, memory, freshness and limits', async () => {
    const { port, key } = service;
    const markets = client.db().collection('markets');
    const market = aMarket();
    await markets.insertOne({ ...market, _id: new ObjectId() });
    await until(async () => (await metric(service, 'change_feed_up')) === 1);
    const limited = { port, key: await storeKey(mongod.uri, { rateLimit: LIMIT }) };
    for (let n = 0; n < LIMIT; n += 1) await ask(limited, lookUp());

    const load = new OpenLoop({ port, key, rate: 100, path: () => lookUp(market.eventId) });
    await load.next(isServed);
    const seenAfterMs: number[] = [];
    const overLimit: number[] = [];
    const hitsBefore = await metric(service, 'markets_cache_hits_total');
    const askedBefore = load.outcomes.length;
    for (const [index] of JUMPS.entries()) {
      service.kill('SIGUSR2');
      await until(() => service.stderr.length > index);
      seenAfterMs.push(await untilSeen(String(index)));
      overLimit.push((await ask(limited, lookUp())).status);
      const jumpedAt = performance.now();
      await load.next(({ at }) => at > jumpedAt + TRUST_IS_OVER_MS);
    }
    const hits = (await metric(service, 'markets_cache_hits_total')) - hitsBefore;
    const asked = load.outcomes.length - askedBefore;
    await load.stop();

    rows.exactly('200', {
      seen: `look-ups, ${JUMPS.join(', ')}`,
      measured: Object.keys(tally(load.outcomes)).join(', '),
    });
    rows.atLeast(90, { seen: 'from memory', measured: (100 * hits) / asked, unit: '%' });
    rows.atMost(250, {
      seen: 'until a change in MongoDB shows',
      measured: Math.max(...seenAfterMs),
      unit: 'ms',
    });
    rows.exactly('429', {
      seen: 'a key over its limit stays so',
      measured: [...new Set(overLimit)].join(', '),
    });

    async function untilSeen(name: string): Promise<number> {
      await markets.updateOne({ marketId: market.marketId }, { $set: { name } });
      const changedAt = performance.now();
      const url = service.url + lookUp(market.eventId);
      await until(async () => {
        const answer = await fetch(url, { headers: { 'X-API-Key': key } });
        return (await answer.text()).includes(`"name":"${name}"`);
      });
      return performance.now() - changedAt;
    }
  });
});
