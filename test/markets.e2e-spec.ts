import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  Binary,
  BSONRegExp,
  Decimal128,
  Double,
  Int32,
  Long,
  ObjectId,
  Timestamp,
  UUID,
  type Document,
} from 'mongodb';
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { MARKET_MOMENTS, MARKET_TYPES, type Market } from '../src/markets/market.schema.js';
import { allTold, createTestApp, type TestApp } from './app.js';
import { aMarket, aRunner, store } from './factories.js';
import { insertBroken } from './insert-broken.js';
import { LOOKUPS, type Lookup } from './lookups.js';
import { sendRaw } from './raw-http.js';
import { inTime, until } from './until.js';

let service: TestApp;

const SOURCES = [
  { source: 'memory', cacheMaxMb: 64 },
  { source: 'MongoDB', cacheMaxMb: 0 },
];

/** After a change in MongoDB, answers show it. Milliseconds. */
const FRESH_WITHIN_MS = 250;

const PAUSE_MS = 5;

describe.each(SOURCES)('answered from $source', ({ source, cacheMaxMb }) => {
  beforeAll(async () => {
    service = await createTestApp({ cacheMaxMb });
  });

  afterAll(async () => {
    await service.close();
  });

  describe.each(LOOKUPS)('GET $route/{$id}', (lookup) => {
    it('answers the markets of the id and no others, whole, ascending by _id', async () => {
      const id = newId();
      const [first, second] = [new ObjectId(), new ObjectId()];
      const markets = [
        { _id: second, ...aMarket({ [lookup.id]: id, runners: [] }) },
        { _id: first, ...aMarket({ [lookup.id]: id, marketMoment: 'live' }) },
        aMarket(),
        aMarket({ [other(lookup).id]: id }),
      ];
      await storeAll(markets);

      const { body } = await service.get(`${lookup.route}/${id}`).expect(200);

      expect(body).toEqual({
        data: [markets[1], markets[0]].map((market) => ({
          ...market,
          _id: String(market?._id),
          createdAt: '2026-11-21T07:03:00.044Z',
          updatedAt: '2026-11-21T07:03:00.044Z',
        })),
        meta: {
          page: 1,
          take: 10,
          itemCount: 2,
          pageCount: 1,
          hasPreviousPage: false,
          hasNextPage: false,
        },
      });
    });

    describe('when filtered', () => {
      const id = newId();
      const markets = MARKET_MOMENTS.flatMap((marketMoment) =>
        MARKET_TYPES.flatMap((marketType, index) =>
          Array.from({ length: index + 1 }, () =>
            aMarket({ [lookup.id]: id, marketMoment, marketType }),
          ),
        ),
      );
      const combinations = [undefined, ...MARKET_MOMENTS].flatMap((marketMoment) =>
        [undefined, ...MARKET_TYPES].map((marketType) => ({ marketMoment, marketType })),
      );

      beforeAll(() => storeAll(markets));

      it.each(combinations)('answers what has %j, and counts it', async (filter) => {
        const wanted = Object.entries(filter).filter(([, value]) => value !== undefined);
        const query = new URLSearchParams([['take', '3'], ...(wanted as [string, string][])]);
        const matching = markets.filter((market) =>
          wanted.every(([name, value]) => market[name as keyof Market] === value),
        );

        const { body } = await service.get(`${lookup.route}/${id}?${query.toString()}`).expect(200);

        expect(body.data.map(({ marketId }: Market) => marketId)).toEqual(
          matching.slice(0, 3).map(({ marketId }) => marketId),
        );
        expect(body.meta.itemCount).toBe(matching.length);
      });
    });

    describe('when filtered by several values and by open text', () => {
      const id = newId();
      const STATUSES = ['OPEN', 'SUSPENDED', 'open'];
      const PROVIDERS = ['Northbook', 'south,book', 'Ünï & Co'];
      const markets = MARKET_MOMENTS.flatMap((marketMoment) =>
        ['BTTS', 'MATCH_ODDS', 'DOUBLE_CHANCE'].flatMap((marketType) =>
          STATUSES.flatMap((marketStatus) =>
            PROVIDERS.map((provider) => {
              const words = { marketMoment, marketType, marketStatus, provider };
              return Object.assign(aMarket({ [lookup.id]: id }), words);
            }),
          ),
        ),
      );

      beforeAll(() => storeAll(markets));

      it.each<readonly [name: keyof Market, value: string][]>([
        [['marketStatus', 'OPEN']],
        [['marketStatus', 'Open']],
        [['provider', 'south,book']],
        [['provider', 'Ünï & Co']],
        [['provider', 'Northbook ']],
        [
          ['provider', 'south,book'],
          ['provider', 'Northbook'],
        ],
        [
          ['marketType', 'BTTS'],
          ['marketType', 'MATCH_ODDS'],
        ],
        [
          ['marketType', 'BTTS'],
          ['marketType', 'UNDER_OVER_HT'],
        ],
        [
          ['marketMoment', 'live'],
          ['marketMoment', 'prelive'],
        ],
        [
          ['marketType', 'MATCH_ODDS'],
          ['provider', 'south,book'],
          ['marketType', 'BTTS'],
          ['marketStatus', 'SUSPENDED'],
          ['marketMoment', 'live'],
          ['marketStatus', 'OPEN'],
        ],
      ])('answers what has one of the values of each name, and counts it: %j', async (...pairs) => {
        const query = new URLSearchParams([...pairs.map(([...pair]) => pair), ['take', '3']]);
        const matching = markets.filter((market) =>
          pairs.every(([name]) =>
            pairs.some(([same, value]) => same === name && market[name] === value),
          ),
        );

        const { body } = await service.get(`${lookup.route}/${id}?${query.toString()}`).expect(200);

        expect(body.data.map(({ marketId }: Market) => marketId)).toEqual(
          matching.slice(0, 3).map(({ marketId }) => marketId),
        );
        expect(body.meta.itemCount).toBe(matching.length);
      });
    });

    describe('when paged', () => {
      const id = newId();
      beforeAll(() => storeAll(many(23, () => aMarket({ [lookup.id]: id }))));

      it.each([
        { query: '', items: 10, page: 1, take: 10, pageCount: 3, previous: false, next: true },
        { query: 'page=2', items: 10, page: 2, take: 10, pageCount: 3, previous: true, next: true },
        { query: 'page=3', items: 3, page: 3, take: 10, pageCount: 3, previous: true, next: false },
        { query: 'page=4', items: 0, page: 4, take: 10, pageCount: 3, previous: true, next: false },
        { query: 'take=1', items: 1, page: 1, take: 1, pageCount: 23, previous: false, next: true },
        {
          query: 'take=1&page=23',
          items: 1,
          page: 23,
          take: 1,
          pageCount: 23,
          previous: true,
          next: false,
        },
        {
          query: 'take=22&page=2',
          items: 1,
          page: 2,
          take: 22,
          pageCount: 2,
          previous: true,
          next: false,
        },
        {
          query: 'take=23',
          items: 23,
          page: 1,
          take: 23,
          pageCount: 1,
          previous: false,
          next: false,
        },
        {
          query: 'take=100',
          items: 23,
          page: 1,
          take: 100,
          pageCount: 1,
          previous: false,
          next: false,
        },
        {
          query: 'take=100&page=9007199254740991',
          items: 0,
          page: 9007199254740991,
          take: 100,
          pageCount: 1,
          previous: true,
          next: false,
        },
        {
          query: 'marketType=BTTS&page=2',
          items: 0,
          page: 2,
          take: 10,
          pageCount: 0,
          previous: false,
          next: false,
          itemCount: 0,
        },
      ])(
        'tells where ?$query stands',
        async ({ query, items, previous, next, itemCount = 23, ...echoed }) => {
          const { body } = await service.get(`${lookup.route}/${id}?${query}`).expect(200);

          expect(body.data).toHaveLength(items);
          expect(body.meta).toEqual({
            ...echoed,
            itemCount,
            hasPreviousPage: previous,
            hasNextPage: next,
          });
          await until(async () => (await lastLogged()).items === items, 5_000);
        },
      );
    });

    it('is a true test of the source', async () => {
      const path = `${lookup.route}/${newId()}`;
      const sourceOfAnswer = async () => {
        await service.get(path).expect(200);
        return sourceLogged();
      };
      const sources = [await sourceOfAnswer(), await sourceOfAnswer(), await sourceOfAnswer()];
      const expected = source === 'memory' ? ['database', 'memory'] : ['database'];

      // Memory answers nothing while a busy machine keeps the change feed late.
      await until(
        async () => sources.push(await sourceOfAnswer()) > 0 && sources.at(-1) === expected.at(-1),
      );
      expect([...new Set(sources)]).toEqual(expected);
    });

    it.each(['', '?page=7&take=3'])(
      'answers an empty page%s for an id nobody has',
      async (query) => {
        const { body } = await service.get(`${lookup.route}/${newId()}${query}`).expect(200);

        expect(body).toEqual({
          data: [],
          meta: {
            page: query ? 7 : 1,
            take: query ? 3 : 10,
            itemCount: 0,
            pageCount: 0,
            hasPreviousPage: false,
            hasNextPage: false,
          },
        });
      },
    );

    it('shows a market with whatever regular expressions other writers have stored in it', async () => {
      const id = newId();
      const pattern = new BSONRegExp('(?i)abc');
      const market = aMarket({ [lookup.id]: id });
      await storeAll([{ ...market, pattern, name: pattern as never }]);
      const answers = [1, 2, 3, 4].map(() => service.get(`${lookup.route}/${id}`).expect(200));
      for (const { body } of await Promise.all(answers)) {
        const { name: _, ...shown } = JSON.parse(JSON.stringify(market));
        expect(body.data).toEqual([{ ...shown, _id: expect.any(String) }]);
      }
      await until(async () => {
        const { body } = await service.getOpen('/health/ready').expect(200);
        return body.changeFeed.state === 'current';
      });
    });

    it('shows a market that holds what the driver can not read beside the fields of the interface', async () => {
      const id = newId();
      // Other drivers write any option, and MongoDB keeps it.
      const pattern = Object.assign(new BSONRegExp('abc'), { options: 'g' });
      const market = aMarket({ [lookup.id]: id });
      await storeAll([{ ...market, pattern }]);
      // One that has seen no other fields: it leaves them out once it has.
      const fresh = await createTestApp({ mongodbUri: service.config.mongodbUri, cacheMaxMb });
      try {
        const answers = [1, 2, 3, 4].map(() => inTime(() => fresh.get(`${lookup.route}/${id}`)));
        for (const { body } of await Promise.all(answers)) {
          const shown = JSON.parse(JSON.stringify(market));
          expect(body.data).toEqual([{ ...shown, _id: expect.any(String) }]);
        }
      } finally {
        await fresh.close();
      }
    });

    it('shows a market, and what changes in it, that the driver takes for a reference', async () => {
      const id = newId();
      const reference = { $ref: 'teams', $id: 7 };
      const runner = aRunner();
      const market = aMarket({ [lookup.id]: id, runners: [{ ...runner, ...reference }] });
      await storeAll([{ ...market, ...reference }]);
      const fresh = await createTestApp({ mongodbUri: service.config.mongodbUri, cacheMaxMb });
      const shows = async (price: number) => {
        const { body } = await inTime(() => fresh.get(`${lookup.route}/${id}`));
        const runners = [{ ...runner, price }];
        const shown = JSON.parse(JSON.stringify({ ...market, runners }));
        expect(body.data).toEqual([{ ...shown, _id: expect.any(String) }]);
      };
      try {
        for (const price of [1.5, 1.5, 1.5, 2.5, 3.5]) {
          await fresh.database.db
            .collection('markets')
            .updateOne({ [lookup.id]: id }, { $set: { 'runners.0.price': price } });
          await allTold(fresh);
          await shows(price);
        }
      } finally {
        await fresh.close();
      }
    });

    it('misses no market and shows none twice while the prices of 200 change', async () => {
      const id = newId();
      const markets = many(200, () => aMarket({ [lookup.id]: id }));
      await storeAll(markets);
      const stop = whileRepeating(async (round) => {
        await service.database.connection
          .collection('markets')
          .updateMany(
            { [lookup.id]: id, 'runners.0.price': { $gt: 0 } },
            { $set: { 'runners.0.price': 1 + round / 100, updatedAt: new Date() } },
          );
      });

      const seen: string[] = [];
      for (let page = 1, more = true; more; page += 1) {
        const path = `${lookup.route}/${id}?take=23&page=${page}`;
        const { body } = await inTime(() => service.get(path));
        seen.push(...body.data.map(({ marketId }: Market) => marketId));
        more = body.meta.hasNextPage;
      }
      await stop();

      expect(seen).toEqual(markets.map(({ marketId }) => marketId));
    });

    it('answers data and meta of one state of the data while markets come and go', async () => {
      const id = newId();
      const collection = service.database.connection.collection('markets');
      const stop = whileRepeating(async () => {
        await storeAll(many(3, () => aMarket({ [lookup.id]: id })));
        await collection.deleteOne({ [lookup.id]: id });
        await collection.deleteMany({ [lookup.id]: id });
      });

      const counts = new Set<number>();
      for (let round = 0; round < 60; round += 1) {
        const { body } = await inTime(() => service.get(`${lookup.route}/${id}?take=100`));
        expect(body.data).toHaveLength(body.meta.itemCount);
        counts.add(body.meta.itemCount);
      }
      await stop();

      expect(counts.size).toBeGreaterThan(1);
    });

    it('shows within 250 ms what has changed, what is new, and that a market is gone', async () => {
      const id = newId();
      const path = `${lookup.route}/${id}`;
      const collection = service.database.connection.collection('markets');
      const market = aMarket({ [lookup.id]: id });
      const key = { marketId: market.marketId };
      const names = async () => {
        const { body } = await service.get(path).expect(200);
        return body.data.map(({ name }: Market) => name);
      };
      expect(await names()).toEqual([]);

      await storeAll([market]);
      await delayFreshness();
      expect(await names()).toEqual(['Match Odds']);

      await collection.updateOne(key, { $set: { name: 'Renamed' } });
      await delayFreshness();
      expect(await names()).toEqual(['Renamed']);

      await collection.updateOne(key, { $set: { [lookup.id]: newId() } });
      await delayFreshness();
      expect(await names()).toEqual([]);

      await collection.updateOne(key, { $set: { [lookup.id]: id } });
      await delayFreshness();
      expect(await names()).toEqual(['Renamed']);

      await collection.deleteOne(key);
      await delayFreshness();
      expect(await names()).toEqual([]);
    });

    it.each(opaqueIds())('compares ids exactly: %j', async (id) => {
      const near = [id.trim(), id.toUpperCase(), id.toLowerCase(), id.normalize('NFD'), ` ${id}`];
      const others = [...new Set([...near, encodeURIComponent(id)])].filter((one) => one !== id);
      const market = aMarket({ [lookup.id]: id });
      await storeAll([market, ...others.map((one) => aMarket({ [lookup.id]: one }))]);

      const { status, body } = await getRaw(`${lookup.route}/${encodeURIComponent(id)}`);

      expect(status).toBe(200);
      expect(body.data.map(({ marketId }: Market) => marketId)).toEqual([market.marketId]);
      expect(body.data[0]?.[lookup.id]).toBe(id);
    });

    it('does not read + as a space, nor . and .. as steps', async () => {
      const suffix = newId();
      const ids = [`a+${suffix}`, `a ${suffix}`, '.', '..'];
      await storeAll(ids.map((id) => aMarket({ [lookup.id]: id })));

      for (const id of [ids[0], '.', '..', '%2E%2E']) {
        const { body } = await getRaw(`${lookup.route}/${id}?take=1`);
        expect(body.data[0]?.[lookup.id]).toBe(id?.replaceAll('%2E', '.'));
      }
    });
  });

  describe('of what other writers have stored', () => {
    const lookup = LOOKUPS[0];

    it('shows an _id of any type as a string, and orders as MongoDB does', async () => {
      const id = newId();
      const uuid = new UUID();
      const objectId = new ObjectId();
      // In MongoDB's order. Made apart from other runs, since _id is unique in the collection.
      const salt = Math.floor(Math.random() * 1e9);
      const short = Buffer.from(`${salt}`);
      const ids: [stored: unknown, shown: string][] = [
        [new Int32(salt), `${salt}`],
        [new Double(salt + 0.5), `${salt + 0.5}`],
        [Decimal128.fromString(`${salt}.750`), `${salt}.750`],
        [Long.fromString('9007199254740993').add(salt), `${9007199254740993n + BigInt(salt)}`],
        [`text ${salt}`, `text ${salt}`],
        [{ a: salt, b: 'x' }, `{"a":${salt},"b":"x"}`],
        [
          new Binary(short, Binary.SUBTYPE_UUID),
          `{"$binary":{"base64":"${short.toString('base64')}","subType":"04"}}`,
        ],
        [uuid, uuid.toString()],
        [objectId, objectId.toHexString()],
        [new Date(salt), new Date(salt).toISOString()],
      ];
      await storeAll(ids.toReversed().map(([_id]) => ({ ...aMarket({ eventId: id }), _id })));

      const walked: string[] = [];
      for (let page = 1; page <= 5; page += 1) {
        const { body } = await service.get(`${lookup.route}/${id}?take=2&page=${page}`).expect(200);
        walked.push(...body.data.map(({ _id }: Document) => _id));
      }

      expect(walked).toEqual(ids.map(([, shown]) => shown));
    });

    it('shows a market with times that JavaScript does not know', async () => {
      const id = newId();
      const tooLate = { $toDate: Long.MAX_VALUE.subtract(Math.floor(Math.random() * 1e9)) };
      const market = { _id: tooLate, eventId: id, createdAt: tooLate };
      const stages = [{ $documents: [market] }, { $merge: 'markets' }];
      await service.database.db.aggregate(stages).toArray();

      const { body } = await service.get(`${lookup.route}/${id}`).expect(200);
      expect(body.data).toEqual([{ _id: expect.stringMatching(/./), eventId: id }]);
    });

    it('leaves out what is lacking, null or of no use, and shows no more than the interface has', async () => {
      const id = newId();
      await storeAll([
        { _id: `1${id}`, eventId: id, provider: 'Bare' },
        {
          _id: `2${id}`,
          eventId: id,
          ...allNull('provider', 'name', 'marketId', 'fixtureId', 'createdAt', 'updatedAt'),
          ...allNull('marketMoment', 'marketStatus', 'marketType', 'runners'),
        },
        {
          ...aMarket({ eventId: id, marketId: 'extra', fixtureId: 'f' }),
          _id: `3${id}`,
          runners: [{ runnerId: 'r', name: 'Home', line: null, price: NaN, odds: 2, _id: 'no' }],
          __v: 0,
          secret: 'hidden',
          importedBy: 'feed',
        },
      ]);
      await service.database.connection
        .collection('markets')
        .updateOne({ eventId: id, marketId: 'extra' }, [
          { $set: { updatedAt: { $toDate: Long.fromString('9000000000000000') } } },
        ]);

      const { body } = await service.get(`${lookup.route}/${id}`).expect(200);

      expect(body.data).toEqual([
        { _id: `1${id}`, eventId: id, provider: 'Bare' },
        { _id: `2${id}`, eventId: id },
        {
          _id: `3${id}`,
          createdAt: '2026-11-21T07:03:00.044Z',
          provider: 'Northbook',
          name: 'Match Odds',
          marketId: 'extra',
          eventId: id,
          marketMoment: 'prelive',
          marketStatus: 'OPEN',
          marketType: 'MATCH_ODDS',
          runners: [{ runnerId: 'r', name: 'Home' }],
          fixtureId: 'f',
        },
      ]);
      expect(body.meta.itemCount).toBe(3);
    });

    it('shows a time that is stored as its exact ISO 8601 text, and no other text', async () => {
      const id = newId();
      const texts = [
        '2026-11-21T07:03:00.044Z',
        '2028-02-29T00:00:00.000Z',
        '2026-02-30T00:00:00.000Z',
        '2026-11-21T24:00:00.000Z',
        '2026-11-21T07:03:00Z',
        '2026-11-21T07:03:00.044+00:00',
        '2026-11-21 07:03:00.044Z',
        '2026-11-21',
        ' 2026-11-21T07:03:00.044Z',
        '+012026-11-21T07:03:00.044Z',
      ];
      await storeAll(
        texts.map((text) => ({ ...aMarket({ eventId: id }), createdAt: text, updatedAt: [text] })),
      );

      const { body } = await service.get(`${lookup.route}/${id}?take=100`).expect(200);

      expect(body.data.map(({ createdAt }: Document) => createdAt)).toEqual(
        texts.map((text, index) => (index < 2 ? text : undefined)),
      );
      expect(body.data.filter((market: Document) => 'updatedAt' in market)).toEqual([]);
    });

    it('finds a filtered field that is stored as a list by any of its elements', async () => {
      const id = newId();
      await storeAll([
        { ...aMarket({ eventId: id, marketId: 'list' }), provider: ['a', ['b'], 7, null] },
        { ...aMarket({ eventId: id, marketId: 'text' }), provider: 'c' },
        { ...aMarket({ eventId: id, marketId: 'none' }), provider: null },
      ]);
      const found = async (query: string) => {
        const { body } = await service.get(`${lookup.route}/${id}?${query}`).expect(200);
        return body.data.map(({ marketId }: Market) => marketId).join();
      };

      expect(await found('provider=a')).toBe('list');
      expect(await found('provider=c&provider=a')).toBe('list,text');
      expect(await found('provider=b&provider=7&provider=null&provider=a,b')).toBe('');
    });

    it('tells texts apart that show alike because their UTF-8 is broken', async () => {
      const id = newId();
      await storeAll([aMarket({ eventId: id, provider: '\ufffd' })]);
      await insertBroken(service, [aMarket({ eventId: id, provider: '??' })]);
      const alike = 'provider=%EF%BF%BD&provider=%EF%BF%BD%EF%BF%BD';
      const ask = async (query: string) => {
        const { body } = await service.get(`${lookup.route}/${id}?${query}`).expect(200);
        return body.data.map(({ provider }: Market) => provider);
      };
      // Memory, where there is one, has the event from the third time on.
      await ask('');
      await ask('');
      expect(await ask(alike)).toEqual(['\ufffd']);
      await ask('');
      // What was asked before may come by another way.
      expect(await ask(alike)).toEqual(['\ufffd']);

      const { body } = await service.get(`/v1/markets/changes?eventId=${id}&${alike}`).expect(200);
      expect(body.data[0].changed).toEqual([expect.objectContaining({ provider: '\ufffd' })]);
    });

    it.each([
      ['a double', 1.8500000000000003, 1.8500000000000003],
      ['a very long one', 0.1 + 0.2, 0.30000000000000004],
      ['an Int32', new Int32(3), 3],
      ['a Long', Long.fromNumber(4), 4],
      ['a Long beyond what a number can hold', Long.fromString('9007199254740993'), 2 ** 53],
      ['a Decimal128', Decimal128.fromString('2.50'), 2.5],
      ['a Decimal128 with an exponent', Decimal128.fromString('1.25E+3'), 1250],
      ['a huge double', 1e300, 1e300],
      ['zero', 0, 0],
      ['NaN', NaN, undefined],
      ['Infinity', Infinity, undefined],
      ['-Infinity', -Infinity, undefined],
      ['a Timestamp', new Timestamp({ t: 7, i: 5 }), undefined],
      ['a Decimal128 that is NaN', Decimal128.fromString('NaN'), undefined],
      ['a Decimal128 that is infinite', Decimal128.fromString('Infinity'), undefined],
      ['a Decimal128 too large for a number', Decimal128.fromString('1E+6000'), undefined],
      ['null', null, undefined],
      ['text', '1.85', undefined],
      ['a list', [1.85], undefined],
      ['a document', { $numberDouble: '1.85' }, undefined],
      ['true', true, undefined],
    ])(
      'makes of a price stored as %s the number it is, or leaves it out',
      async (_, price, shown) => {
        const id = newId();
        await storeAll([
          { ...aMarket({ eventId: id }), runners: [{ runnerId: 'r', name: 'Home', price }] },
        ]);

        const { body } = await service.get(`${lookup.route}/${id}`).expect(200);

        expect(body.data[0].runners).toEqual([
          { runnerId: 'r', name: 'Home', ...(shown !== undefined && { price: shown }) },
        ]);
      },
    );

    it('passes on values of marketType, marketMoment and marketStatus that it does not know', async () => {
      const id = newId();
      const unknown = {
        marketType: 'CORRECT_SCORE',
        marketMoment: 'half-time',
        marketStatus: 'SUSPENDED',
      };
      await storeAll([{ ...aMarket({ eventId: id }), ...unknown }, aMarket({ eventId: id })]);

      const all = await service.get(`${lookup.route}/${id}`).expect(200);
      const live = await service.get(`${lookup.route}/${id}?marketMoment=live`).expect(200);

      expect(all.body.data[0]).toMatchObject(unknown);
      expect(all.body.meta.itemCount).toBe(2);
      expect(live.body).toMatchObject({ data: [], meta: { itemCount: 0 } });
    });

    it('keeps a line and leaves out elements of runners that are no documents', async () => {
      const id = newId();
      const runner = aRunner({ line: '2.5' });
      await storeAll([{ ...aMarket({ eventId: id }), runners: [null, runner, 'x', 7, [runner]] }]);

      const { body } = await service.get(`${lookup.route}/${id}`).expect(200);

      expect(body.data[0].runners).toEqual([runner]);
    });
  });

  describe('as HTTP', () => {
    const id = newId();
    const path = `${LOOKUPS[1].route}/${id}?take=20`;
    const small = `${LOOKUPS[1].route}/${newId()}`;
    beforeAll(() => storeAll(many(20, () => aMarket({ fixtureId: id }))));

    const askFor = (encoding: string, target = path) =>
      fetch(new URL(target, service.url), {
        headers: { 'X-API-Key': service.key, 'Accept-Encoding': encoding },
      });

    it('says how the answer may be kept, and opens itself to no other origin', async () => {
      const { headers } = await service.get(path).set('Origin', 'http://a.example').expect(200);

      expect(headers).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'private, no-cache',
        vary: 'X-API-Key, Accept-Encoding',
        etag: expect.stringMatching(/^(W\/)?"[\w-]+"$/),
        'x-request-id': expect.stringMatching(/^[\w-]{36}$/),
      });
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    });

    it('answers HEAD as GET, without the body', async () => {
      const got = await service.get(path).set('Accept-Encoding', 'identity').expect(200);
      const url = new URL(path, service.url);
      const head = await fetch(url, {
        method: 'HEAD',
        headers: { 'X-API-Key': service.key, 'Accept-Encoding': 'identity' },
      });

      expect(head.status).toBe(200);
      for (const name of ['etag', 'content-type', 'content-length', 'cache-control', 'vary']) {
        expect(head.headers.get(name)).toBe(got.headers[name]);
      }
      expect(await head.text()).toBe('');
    });

    it.each([
      ['the tag', (tag: string) => tag],
      ['the tag in its strong form', (tag: string) => tag.replace('W/', '')],
      ['the tag in its weak form', (tag: string) => `W/${tag.replace('W/', '')}`],
      ['a list with the tag', (tag: string) => `"a", W/"b,c",${tag}`],
      ['anything', () => '*'],
    ])('answers 304 to If-None-Match with %s', async (_, ifNoneMatch) => {
      const { headers } = await service.get(path).expect(200);

      const answer = await service
        .get(path)
        .set('If-None-Match', ifNoneMatch(headers['etag'] ?? ''))
        .expect(304);

      expect(answer.text).toBe('');
      expect(answer.headers).toMatchObject({
        etag: headers['etag'],
        'cache-control': 'private, no-cache',
        vary: 'X-API-Key, Accept-Encoding',
      });
      expect(answer.headers).not.toHaveProperty('content-type');
    });

    it.each(['"nope"', 'W/"nope"', '"nope", "neither"', 'nope', '"'])(
      'answers 200 to If-None-Match: %s',
      async (tag) => {
        const { body } = await service.get(path).set('If-None-Match', tag).expect(200);
        expect(body.data).toHaveLength(20);
      },
    );

    it('checks the key before it says 304', async () => {
      const { status } = await service.getOpen(path).set('If-None-Match', '*');
      expect(status).toBe(401);
    });

    it('has a tag that changes if and only if the answer does', async () => {
      const own = newId();
      const target = `${LOOKUPS[0].route}/${own}`;
      const market = aMarket({ eventId: own });
      const set = async (fields: object) => {
        await service.database.connection
          .collection('markets')
          .updateOne({ marketId: market.marketId }, { $set: fields });
        await delayFreshness();
        return tagOf(target);
      };
      await storeAll([market]);

      const before = await tagOf(target);
      const untouched = await set({ unseen: 1 });
      const changed = await set({ 'runners.0.price': 9 });
      const back = await set({ 'runners.0.price': 1.85 });

      expect(untouched).toBe(before);
      expect(changed).not.toBe(before);
      expect(back).toBe(before);
      expect(await tagOf(`${target}?take=11`)).not.toBe(before);
      expect(await tagOf(`${target}?marketType=MATCH_ODDS`)).toBe(before);
    });

    it.each([
      ['gzip', 'gzip'],
      ['br', 'br'],
      ['gzip, deflate, br', 'br'],
      ['gzip, br;q=0.9', 'gzip'],
      ['br;q=0.5, gzip', 'gzip'],
      ['br;q=0, gzip;q=0.1', 'gzip'],
      ['*', 'br'],
      ['GZIP', 'gzip'],
      ['identity', undefined],
      ['identity, gzip;q=0.5', undefined],
      ['deflate', undefined],
      ['gzip;q=0', undefined],
      ['', undefined],
    ])('to Accept-Encoding: %s answers in %s', async (accepted, expected) => {
      const plain = await service.get(path).set('Accept-Encoding', 'identity');
      const answer = await askFor(accepted);

      expect(answer.headers.get('content-encoding') ?? undefined).toBe(expected);
      expect(answer.headers.get('etag')).toBe(plain.headers['etag']);
      expect(answer.headers.get('vary')).toBe('X-API-Key, Accept-Encoding');
      expect(await answer.json()).toEqual(plain.body);
    });

    it('compresses from 1 KiB on', async () => {
      const length = async (encoding: string) =>
        Number((await askFor(encoding)).headers.get('content-length'));
      const answer = await askFor('gzip', small);

      expect(await length('gzip')).toBeLessThan((await length('identity')) / 2);
      expect(await length('br')).toBeLessThan((await length('identity')) / 2);
      expect(answer.headers.get('content-encoding')).toBeNull();
      expect(answer.headers.get('vary')).toBe('X-API-Key, Accept-Encoding');
      // Longer than any client's: it would cost milliseconds to weigh.
      const endless = await askFor(Array.from({ length: 2_000 }, () => 'gzip').join());
      expect(endless.headers.get('content-encoding')).toBeNull();
    });

    it('keeps a request id of 64 characters, and no longer one', async () => {
      const [longest, longer] = ['x'.repeat(64), 'x'.repeat(65)];
      const kept = await service.get(path).set('X-Request-Id', longest);
      const made = await service.get(path).set('X-Request-Id', longer);

      expect(kept.headers['x-request-id']).toBe(longest);
      expect(made.headers['x-request-id']).toMatch(/^[\w-]{36}$/);
    });

    it.each([
      [1_024, 'gzip'],
      [1_023, null],
    ])('compresses a body of %i bytes by %s', async (bytes, expected) => {
      const [shortest, padded] = [newId(), newId()];
      await storeAll([aMarket({ fixtureId: shortest, name: '-' })]);
      const body = await (await askFor('identity', `${LOOKUPS[1].route}/${shortest}`)).text();
      const name = '-'.repeat(1 + bytes - body.length);
      await storeAll([aMarket({ fixtureId: padded, name })]);

      const answer = await askFor('gzip', `${LOOKUPS[1].route}/${padded}`);

      expect((await answer.text()).length).toBe(bytes);
      expect(answer.headers.get('content-encoding')).toBe(expected);
    });

    it.each(['gzip', 'br'])('compresses a page of megabytes by %s once for all', async (coding) => {
      const fixtureId = newId();
      const name = randomBytes(1024 * 1024).toString('hex');
      await storeAll([aMarket({ fixtureId, name })]);
      const answers = many(4, () =>
        inTime(() => askFor(coding, `${LOOKUPS[1].route}/${fixtureId}`)),
      );
      for (const answer of await Promise.all(answers)) {
        expect(answer.headers.get('content-encoding')).toBe(coding);
        // One that is compressed as it is sent has none.
        expect(Number(answer.headers.get('content-length'))).toBeGreaterThan(0);
        expect(await answer.json()).toMatchObject({ data: [{ fixtureId, name }] });
      }
    });
  });
});

function newId(): string {
  return `id-${randomUUID()}`;
}

function allNull(...names: (keyof Market)[]): object {
  return Object.fromEntries(names.map((name) => [name, null]));
}

function other({ id }: Lookup): Lookup {
  return id === 'eventId' ? LOOKUPS[1] : LOOKUPS[0];
}

function many<T>(count: number, make: () => T): T[] {
  return Array.from({ length: count }, make);
}

async function storeAll(markets: readonly object[]): Promise<void> {
  await store(service.database.connection, ...markets);
}

function delayFreshness(): Promise<void> {
  return delay(FRESH_WITHIN_MS);
}

/** Where the last answer came from, once its request is logged. */
async function sourceLogged(): Promise<string | undefined> {
  return (await lastLogged()).source;
}

async function lastLogged(): Promise<{ source?: string; items?: number }> {
  await new Promise(setImmediate);
  return JSON.parse(service.logged.findLast((each) => each.includes('"msg":"request"')) ?? '{}');
}

async function tagOf(path: string): Promise<string | undefined> {
  const { headers } = await service.get(path).expect(200);
  return headers['etag'];
}

/** Clients such as supertest tidy a path up before they send it. */
async function getRaw(path: string): Promise<{ status: number; body: { data: Market[] } }> {
  const request = `GET ${path} HTTP/1.1\r\nHost: a\r\nX-API-Key: ${service.key}\r\n\r\n`;
  const [answer] = await sendRaw(service.port, request);
  return { status: answer?.status ?? 0, body: JSON.parse(answer?.body ?? '') };
}

/** Does something again and again until told to stop, with room for others on a small machine. */
function whileRepeating(work: (round: number) => Promise<void>): () => Promise<void> {
  const stop = new AbortController();
  const done = (async () => {
    for (let round = 1; !stop.signal.aborted; round += 1) {
      await work(round);
      await delay(PAUSE_MS);
    }
  })();
  return async () => {
    stop.abort();
    await done;
  };
}

function opaqueIds(): string[] {
  const salt = randomUUID();
  return [
    `two words ${salt}`,
    ` spaces around ${salt} `,
    `a/b/${salt}`,
    `a%2Fb${salt}`,
    `../${salt}`,
    `a+b${salt}`,
    `Straße ${salt}`,
    `é ${salt}`,
    `日本語-${salt}`,
    `MiXeD-${salt}`,
    `?page=0&take=1#${salt}`,
    `"'\\<>${salt}`,
    `$ne${salt}`,
    `{"$gt":""}${salt}`,
    `\u{1F600}`.repeat(256 - salt.length) + salt,
    `\u200b\ufeff\u202e${salt}`,
    `007${salt}`,
    `\ufffe\uffff${salt}`,
  ];
}
