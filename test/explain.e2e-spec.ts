import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Document } from 'mongodb';
import {
  FILTERED_FIELDS,
  MARKET_MOMENTS,
  MARKET_TYPES,
  MarketSchema,
  type FilteredField,
  type Market,
} from '../src/markets/market.schema.js';
import { createTestApp, type TestApp } from './app.js';
import { aMarket, store } from './factories.js';
import { leastOf } from './least.js';
import { LOOKUPS } from './lookups.js';
import { TestMongod, testDatabaseUri } from './mongo.js';
import {
  commandsDuring,
  everyValueOf,
  lookupsIn,
  monitored,
  readsDuring,
} from './mongo-commands.js';
import { sendTogether } from './raw-http.js';
import { inTime, until } from './until.js';

const SCOPE = 'explained';
const TAKE = 4;
/** Three pages. */
const PER_KIND = 3 * TAKE;

/** What the markets have in the fields that are filtered by: three values of each, since a scope in memory is bounded. */
const VALUES = Object.entries<readonly string[]>({
  marketMoment: MARKET_MOMENTS,
  marketType: MARKET_TYPES,
  marketStatus: ['OPEN', 'SUSPENDED', 'CLOSED'],
  provider: ['Northbook', 'Southbook', 'Eastbook'],
} satisfies Record<FilteredField, readonly string[]>).map(
  ([field, values]) => [field, values.slice(0, 3)] as const,
);

const KINDS = VALUES.reduce<Partial<Market>[]>(
  (all, [field, values]) =>
    all.flatMap((one) => values.map((value) => ({ ...one, [field]: value }))),
  [{}],
);

/** Of each filter nothing, one value and several: every combination. */
const FILTERS = VALUES.map(([field, [first, second, third = second]]) => [
  '',
  `&${field}=${second}`,
  `&${field}=${first}&${field}=${third}`,
]).reduce((all, own) => all.flatMap((one) => own.map((other) => one + other)), ['']);

/** Each value of each filter among them. */
const SOME_FILTERS = FILTERS.filter((_, index) => index % 5 === 0);

const IN_SCOPE = PER_KIND * KINDS.length;

/** What a command does not need in order to be explained, or must not have. */
const TRANSIENT = ['lsid', '$clusterTime', '$db', '$readPreference', 'readConcern', 'maxTimeMS'];

interface Plan {
  readonly stages: readonly string[];
  readonly docsExamined: number;
  /** Look-ups that the command answers. */
  readonly lookups: number;
}

let service: TestApp;

async function start(cacheMaxMb: number, uri = testDatabaseUri()): Promise<void> {
  service = await createTestApp({ mongodbUri: monitored(uri), cacheMaxMb });
  const ids = Object.fromEntries(LOOKUPS.map(({ id }) => [id, SCOPE])) as Partial<Market>;
  const inScope = KINDS.flatMap((kind) =>
    Array.from({ length: PER_KIND }, () => aMarket({ ...ids, ...kind })),
  );
  const others = Array.from({ length: 300 }, () => aMarket());
  await store(service.database.connection, ...inScope, ...others);
}

describe('what a look-up asks of MongoDB', () => {
  beforeAll(() => start(0));
  afterAll(() => service.close());

  describe.each(LOOKUPS)('GET $route/{$id}', ({ route, id }) => {
    it('takes no more than a page from an index in order, whatever the filters', async () => {
      for (const [index, filter] of FILTERS.entries()) {
        const query = `take=${TAKE}&page=${1 + 2 * (index % 2)}${filter}`;
        const plans = await explainPage(`${route}/${SCOPE}?${query}`);

        expect(plans.length).toBeGreaterThan(0);
        for (const { stages } of plans) expectIndexAlone(stages);
        expect([query, total(plans, 'docsExamined')]).toEqual([query, TAKE]);
      }
    });

    it.each([
      ['of before 0.1.0', ['marketMoment', 'marketType']],
      ['without the newest filter', FILTERED_FIELDS.slice(0, -1)],
    ])('needs no scan or sort beside an index of an earlier version, %s', async (name, fields) => {
      const markets = service.database.connection.collection('markets');
      const filters = Object.fromEntries(fields.map((field) => [field, 1]));
      await markets.createIndex({ [id]: 1, _id: 1, ...filters }, { name: `${id} ${name}` });

      for (const filter of SOME_FILTERS) {
        const plans = await explainReads(`${route}/${SCOPE}?take=${TAKE}${filter}`);

        expect(plans.length).toBeGreaterThan(0);
        for (const { stages } of plans) expectIndexAlone(stages);
        // Where both indexes have the order, MongoDB may take either of them.
        expect(total(plans, 'docsExamined')).toBeLessThanOrEqual(IN_SCOPE);
      }
      await markets.dropIndex(`${id} ${name}`);
    });

    it('has a full page of 100 with the first reply', async () => {
      const commands = await commandsDuring(service.database.connection, () =>
        service.get(`${route}/${SCOPE}?take=100`).expect(200),
      );
      const names = commands.map(({ commandName }) => commandName);
      expect(names).toContain('aggregate');
      expect(names).not.toContain('getMore');
    });

    it('takes no more than the pages when several are asked for together', async () => {
      const requests = SOME_FILTERS.map(
        (filter) =>
          `GET ${route}/${SCOPE}?take=${TAKE}${filter} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${service.key}\r\n\r\n`,
      );
      // A pause of the machine can make a shared command late: then its look-ups are asked once more, each alone, and
      // so are others for a while.
      const { reads } = await leastOf(5, 'effort', async () => {
        await until(async () => (await readsTogether(requests.slice(0, 4))).length < 4);
        const all = await readsTogether(requests);
        return { reads: all, effort: all.length + lookupsIn(all) };
      });
      const plans = await explain(reads);

      expect(plans.length).toBeLessThan(SOME_FILTERS.length);
      expect(total(plans, 'lookups')).toBe(SOME_FILTERS.length);
      for (const { stages } of plans) expectIndexAlone(stages);
      expect(total(plans, 'docsExamined')).toBeGreaterThan(TAKE);
      expect(total(plans, 'docsExamined')).toBeLessThanOrEqual(TAKE * SOME_FILTERS.length);
    });
  });

  it('uses indexes that are known by their names: one of other fields must have another name', () => {
    const indexes = MarketSchema.indexes().map(
      ([keys, { name }]) => `${name}: ${Object.keys(keys).join()}`,
    );
    expect(indexes).toEqual([
      'market_identity: marketId,eventId,provider',
      'eventId_page: eventId,_id,provider,marketMoment,marketStatus,marketType',
      'fixtureId_page: fixtureId,_id,provider,marketMoment,marketStatus,marketType',
    ]);
  });

  it('would tell a scan of the collection and a sort in memory', async () => {
    const markets = service.database.connection.collection('markets');
    const explanations = [
      await markets.find({ name: 'x' }).explain('executionStats'),
      await markets.find({ eventId: SCOPE }).sort({ name: 1 }).explain('executionStats'),
      await markets.aggregate([{ $sort: { name: 1 } }, { $match: { eventId: SCOPE } }]).explain(),
    ];

    for (const explained of explanations) {
      expect(() => expectIndexAlone(planOf(explained).stages)).toThrow(/COLLSCAN|SORT|toBe/);
    }
  });
});

describe('what memory is filled with', () => {
  beforeAll(() => start(64));
  afterAll(() => service.close());

  it.each(LOOKUPS)('comes from an index, too: GET $route/{$id}', async ({ route }) => {
    let loads: Plan[] = [];
    await until(async () => {
      // The whole scope is read once it is asked for again and the change feed is up; a slow load answers nobody:
      // the page is read as well, by a command that counts its look-up.
      const plans = await explainReads(`${route}/${SCOPE}?take=${TAKE}`);
      loads = plans.filter(({ docsExamined, lookups }) => docsExamined > TAKE && lookups === 0);
      return loads.length > 0;
    });

    for (const { stages } of loads) expectIndexAlone(stages);
    expect(total(loads, 'docsExamined')).toBe(IN_SCOPE);
  });
});

describe('on a standalone server, which has no snapshots', () => {
  let mongod: TestMongod;
  beforeAll(async () => {
    mongod = await TestMongod.start({ members: 0 });
    await start(0, mongod.uri);
  });
  afterAll(async () => {
    await service.close();
    await mongod.stop();
  });

  it.each(LOOKUPS)(
    'one pass over the index, or two over up to 500 markets, serve GET $route/{$id}',
    async ({ route }) => {
      for (const filter of SOME_FILTERS) {
        const path = `${route}/${SCOPE}?take=${TAKE}&page=2${filter}`;
        const { body } = await inTime(() => service.get(path));
        const passes = body.meta.itemCount > 500 ? 1 : 2;
        const plans = await explainReads(path);

        expect(plans).toHaveLength(passes);
        for (const { stages } of plans) expectIndexAlone(stages);
        expect(total(plans, 'docsExamined')).toBeLessThanOrEqual(passes * body.meta.itemCount);
      }
    },
  );

  it('pages are in the order of _id where indexes lack, too', async () => {
    const uri = new URL(mongod.uri);
    uri.pathname = 'without-indexes';
    const bare = await createTestApp({ mongodbUri: uri.href, dbInit: false });
    const markets = ['c', 'a', 'b'].map((_id) => aMarket({ _id, fixtureId: SCOPE }));
    await store(bare.database.connection, ...markets);
    const { body } = await bare.get(`/v1/markets/market/fixture/${SCOPE}?take=2`).expect(200);
    await bare.close();
    expect(body.data.map(({ _id }: Document) => _id)).toEqual(['a', 'b']);
  });
});

/** While a busy disk keeps the majority back, a look-up is one pass over all that match: it is asked for again. */
async function explainPage(path: string): Promise<Plan[]> {
  let plans = await explainReads(path);
  const deadline = performance.now() + 10_000;
  while (total(plans, 'docsExamined') > TAKE && performance.now() < deadline) {
    plans = await explainReads(path);
  }
  return plans;
}

/** The plans of the reads of `markets` that a request causes. */
async function explainReads(path: string): Promise<Plan[]> {
  const reads = await marketReads(async () => {
    const { status } = await inTime(() => service.get(path));
    expect(status).toBe(200);
  });
  return explain(reads);
}

/** The reads of `markets` that requests cause which arrive together. */
function readsTogether(requests: readonly string[]): Promise<Document[]> {
  return marketReads(() => sendTogether(service.app.getHttpServer(), requests));
}

async function marketReads(work: () => PromiseLike<unknown>): Promise<Document[]> {
  const reads = await readsDuring(service.database.connection, work);
  return reads.filter(({ find, aggregate }) => (find ?? aggregate) === 'markets');
}

function explain(reads: readonly Document[]): Promise<Plan[]> {
  return Promise.all(
    reads.map(async (read) => {
      const command = Object.fromEntries(
        Object.entries(read).filter(([name]) => !TRANSIENT.includes(name)),
      );
      const explained = await service.database.connection.db?.command({
        explain: command,
        verbosity: 'executionStats',
      });
      return { ...planOf(explained ?? {}), lookups: lookupsIn([command]) };
    }),
  );
}

function planOf(explained: Document): Omit<Plan, 'lookups'> {
  const winning = everyValueOf(explained, 'winningPlan');
  return {
    stages: [
      ...winning.flatMap((plan) => everyValueOf(plan, 'stage')),
      ...everyValueOf(explained['stages'], '$sort').map(() => 'SORT'),
    ].map(String),
    docsExamined: everyValueOf(explained, 'totalDocsExamined').reduce<number>(
      (all, examined) => all + Number(examined),
      0,
    ),
  };
}

function expectIndexAlone(stages: readonly string[]): void {
  expect(stages.some((stage) => stage === 'IXSCAN' || stage === 'COUNT_SCAN')).toBe(true);
  expect(stages).not.toContain('COLLSCAN');
  expect(stages).not.toContain('SORT');
}

function total(plans: readonly Plan[], figure: 'docsExamined' | 'lookups'): number {
  return plans.reduce((sum, plan) => sum + plan[figure], 0);
}
