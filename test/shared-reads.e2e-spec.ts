import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { BSONRegExp, type Document } from 'mongodb';
import { createTestApp, type TestApp } from './app.js';
import { aMarket, store } from './factories.js';
import { leastOf } from './least.js';
import { LOOKUPS } from './lookups.js';
import { setFailCommand } from './mongo-admin.js';
import { TestMongod } from './mongo.js';
import { everyValueOf, lookupsIn, monitored, readsDuring } from './mongo-commands.js';
import { sendTogether, type RawAnswer } from './raw-http.js';
import { until } from './until.js';

const EVENTS = 12;
const PER_EVENT = 30;
const TAKE = 7;
const UNAUTHORIZED = 13;
const SNAPSHOT_UNAVAILABLE = 246;

let mongod: TestMongod;
let service: TestApp;

/** Every event with its pages, with filters, past the end; and events that nobody has. */
const paths = LOOKUPS.flatMap(({ route, id }) =>
  Array.from({ length: EVENTS + 2 }, (_, event) => `${route}/${id}-${event}`).flatMap((scope) => [
    `${scope}?take=${TAKE}`,
    `${scope}?take=${TAKE}&page=3&marketMoment=live`,
    `${scope}?take=${TAKE}&page=900`,
  ]),
);

beforeAll(async () => {
  mongod = await TestMongod.start();
  service = await createTestApp({ mongodbUri: monitored(mongod.uri), cacheMaxMb: 0 });
  const markets = Array.from({ length: EVENTS * PER_EVENT }, (_, index) =>
    aMarket({
      eventId: `eventId-${index % EVENTS}`,
      fixtureId: `fixtureId-${(index * 7) % EVENTS}`,
      marketMoment: index % 3 === 0 ? 'live' : 'prelive',
    }),
  );
  await store(service.database.connection, ...markets);
  await service.get(paths[0] ?? '').expect(200);
});

afterAll(async () => {
  await service.close();
  await mongod.stop();
});

afterEach(() => failCommand('off'));

describe('look-ups that arrive together', () => {
  it('each get their own page, as if asked alone, by fewer commands', async () => {
    const alone: unknown[] = [];
    for (const path of paths) alone.push(await bodyOf(path));
    const withMarkets = alone.filter((body) => (body as { data: unknown[] }).data.length === TAKE);
    expect(withMarkets.length).toBeGreaterThan(EVENTS);

    // A pause of the machine can make a shared command late: then its look-ups are asked once more, each alone, and so
    // are others for a while.
    const { commands, lookups, answers } = await leastOf(5, 'effort', async () => {
      await until(async () => (await askCounted(paths.slice(0, 4))).commands < 4);
      return askCounted();
    });

    expect(answers.map(({ body }) => JSON.parse(body))).toEqual(alone);
    expect(commands).toBeLessThan(paths.length / 2);
    expect(lookups).toBe(paths.length);
  });

  it('do not wait for one that is slow: each is asked for anew, and for a while alone', async () => {
    const wanted = paths.slice(0, 8);
    const expected = (await ask(wanted)).map(({ body }) => body);
    const commands = async () => (await askCounted(wanted)).commands;
    // On a busy machine that while may be over too soon, or another one not yet.
    await until(async () => {
      await until(async () => (await commands()) < 4);
      await failCommand({ times: 1 }, { errorCode: 50 });
      expect((await ask(wanted)).map(({ body }) => body)).toEqual(expected);
      return (await commands()) === wanted.length;
    }, 5_000);
  });

  it('survive that their command is cut twice', async () => {
    const together = paths.slice(0, 4);
    const expected = (await ask(together)).map(({ body }) => body);
    await failCommand({ times: 2 }, { closeConnection: true });

    expect((await ask(together)).map(({ body }) => body)).toEqual(expected);
  });

  it('all learn that MongoDB is too slow, in time', async () => {
    await failCommand('alwaysOn', { blockConnection: true, blockTimeMS: 1_500 });
    const began = performance.now();
    const answers = await ask(paths.slice(0, 8));

    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 504));
    expect(performance.now() - began).toBeLessThan(2_000);
  });

  it('all learn that MongoDB refuses them', async () => {
    await failCommand('alwaysOn', { errorCode: UNAUTHORIZED });
    const answers = await ask(paths.slice(0, 8));

    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 503));
  });
});

it('a watch waits for a snapshot that is not there yet, as after a drop', async () => {
  await failCommand({ times: 5 }, { failCommands: ['find'], errorCode: SNAPSHOT_UNAVAILABLE });

  const { status } = await service.get('/v1/markets/changes?eventId=eventId-1');
  expect(status).toBe(200);
});

it('fields that others have added show nowhere, and are not sent any more once there was one', async () => {
  const { connection } = service.database;
  const [path = ''] = paths;
  const together = paths.filter((each) => each.endsWith(`take=${TAKE}`)).slice(0, 4);
  const bodies = async () => (await ask(together)).map(({ body }) => body);
  const projects = async () => {
    const reads = await readsDuring(connection, () => service.get(path).expect(200));
    return everyValueOf(reads, '$project').length > 0;
  };
  const expected = await bodies();
  expect(await projects()).toBe(false);

  const others = { itemCount: 7, lookup: 2, markets: [1], rows: 'x'.repeat(1_000) };
  await connection.collection('markets').updateMany({}, { $set: others });
  expect(await bodies()).toEqual(expected);
  expect(await projects()).toBe(true);
});

it("a look-up does not fail for a market of another one beside it that the driver can't read", async () => {
  // Other drivers write any option, and MongoDB keeps it.
  const name = Object.assign(new BSONRegExp('abc'), { options: 'g' }) as never;
  await store(service.database.connection, aMarket({ eventId: 'unreadable', name }));
  const wanted = [`${LOOKUPS[0].route}/unreadable`, ...paths.slice(0, 3)];
  await until(async () => (await askCounted(paths.slice(0, 4))).commands < 4);
  expect((await ask(wanted)).map(({ status }) => status)).toEqual([500, 200, 200, 200]);
});

function ask(wanted: readonly string[]): Promise<RawAnswer[]> {
  const requests = wanted.map(
    (path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${service.key}\r\n\r\n`,
  );
  return sendTogether(service.app.getHttpServer(), requests);
}

/** Asks for paths together, and counts what that takes of MongoDB. */
async function askCounted(wanted = paths) {
  let answers: RawAnswer[] = [];
  const reads = await readsDuring(service.database.connection, async () => {
    answers = await ask(wanted);
  });
  const commands = reads.length;
  const lookups = lookupsIn(reads);
  return { commands, lookups, effort: commands + lookups, answers };
}

async function bodyOf(path: string): Promise<unknown> {
  const { body } = await service.get(path).expect(200);
  return body;
}

function failCommand(mode: string | Document, how: Document = {}): Promise<void> {
  return setFailCommand(mongod, mode, { failCommands: ['aggregate'], ...how });
}
