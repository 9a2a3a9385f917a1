import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { isDeepStrictEqual } from 'node:util';
import { MongoClient, type Collection, type Document } from 'mongodb';
import type { WatchEvent } from '../../clients/typescript/src/client.js';
import { aMarket, aRunner } from '../factories.js';
import { Line } from '../line.js';
import { TestMongod } from '../mongo.js';
import { PackedClient } from '../packed-client.js';
import { startProcess, storeKey, type ServerProcess } from '../services.js';
import { until } from '../until.js';

type Prices = Readonly<Record<string, number>>;

/** Prints each event with the prices that the watch then holds. */
const PROGRAM = `import { MarketsClient } from 'markets-odds-client';
const [baseUrl, apiKey, fixtureId] = process.argv.slice(2);
const watch = new MarketsClient({ baseUrl, apiKey }).watch({ fixtureId }, { pollMs: 50 });
for await (const event of watch) {
  const held = [...watch.markets({ fixtureId })].map(([id, { runners }]) => [id, runners[0].price]);
  console.log(JSON.stringify({ event, held: Object.fromEntries(held) }));
}`;

let mongod: TestMongod;
let mongo: MongoClient;
let markets: Collection;
let packed: PackedClient;
let key: string;
let replicas: [ServerProcess, ServerProcess];
let line: Line;
let caller: Caller;

/** A caller in a process of its own: Node's globals are not those of Jest. */
class Caller {
  readonly events: WatchEvent[] = [];
  held: Prices = {};

  private constructor(
    readonly fixtureId: string,
    readonly end: () => void,
  ) {}

  static async start(): Promise<Caller> {
    const fixtureId = randomUUID();
    const documents: Document[] = [aMarket({ fixtureId }), aMarket({ fixtureId })];
    await markets.insertMany(documents);
    const child = await packed.start(PROGRAM, line.url, key, fixtureId);
    const self = new Caller(fixtureId, () => child.kill('SIGKILL'));
    createInterface({ input: child.stdout }).on('line', (text) => {
      const { event, held } = JSON.parse(text) as { event: WatchEvent; held: Prices };
      self.events.push(event);
      self.held = held;
    });
    return self;
  }

  get last(): string | undefined {
    return this.events.at(-1)?.type;
  }

  get resets(): number {
    return this.events.filter((event) => event.type === 'markets' && event.reset).length;
  }

  async write(price: number): Promise<void> {
    const { fixtureId } = this;
    await markets.updateMany({ fixtureId }, { $set: { runners: [aRunner({ price })] } });
  }
}

/** It holds what MongoDB does, soon. */
async function expectTrue(withinMs: number): Promise<void> {
  const stored = await markets.find({ fixtureId: caller.fixtureId }).toArray();
  const prices = stored.map(({ _id, runners }) => [String(_id), runners[0].price] as const);
  const inMongodb = Object.fromEntries(prices);
  await until(() => isDeepStrictEqual(caller.held, inMongodb), withinMs).catch(() => undefined);
  expect(caller.held).toEqual(inMongodb);
}

beforeAll(async () => {
  packed = await PackedClient.install();
  mongod = await TestMongod.start();
  mongo = await MongoClient.connect(mongod.uri);
  markets = mongo.db().collection('markets');
  key = await storeKey(mongod.uri);
  replicas = [await startProcess(mongod.uri, { key }), await startProcess(mongod.uri, { key })];
}, 120_000);

afterAll(async () => {
  for (const replica of replicas) await replica.stop();
  await mongo.close();
  await mongod.stop();
  await packed.remove();
});

async function begin(streamBytes = Infinity): Promise<void> {
  line = await new Line(replicas[0].port).listen();
  line.streamBytes = streamBytes;
  caller = await Caller.start();
}

function stop(): void {
  caller.end();
  line.close();
}

describe('a watch of the client', () => {
  it('goes on at another replica and after a restart, without a reset', async () => {
    await begin();
    try {
      await until(() => caller.last === 'current');
      for (const restart of [false, true]) {
        line.targetPort = replicas[1].port;
        if (restart) {
          await replicas[1].stop();
          await caller.write(3);
          replicas[1] = await startProcess(mongod.uri, { key });
          line.targetPort = replicas[1].port;
        } else {
          line.cut();
          await caller.write(2);
        }
        await expectTrue(20_000);
        await until(() => caller.last === 'current');
      }
      expect(caller.resets).toBe(1);
    } finally {
      stop();
    }
  });

  it('has the true prices soon after ten seconds of silence', async () => {
    await begin();
    try {
      await until(() => caller.last === 'current');
      line.silence();
      await caller.write(2);
      await until(() => caller.last === 'late', 12_000);
      await expectTrue(3_000);
      expect(caller.resets).toBe(1);
    } finally {
      stop();
    }
  });

  it.each([
    ['a stream', 0],
    ['what follows the headers of a stream', 600],
  ])('asks where a proxy holds back %s', async (_what, streamBytes) => {
    await begin(streamBytes);
    try {
      await expectTrue(15_000);
      await caller.write(2);
      await expectTrue(15_000);
      // Streams are known not to pass by now.
      for (const price of [3, 4]) {
        await caller.write(price);
        await expectTrue(3_000);
      }
    } finally {
      stop();
    }
  });
});
