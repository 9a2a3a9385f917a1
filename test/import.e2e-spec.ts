import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { BSONRegExp, Double, Long, MongoClient, type Collection, type Db } from 'mongodb';
import mongoose from 'mongoose';
import { generateKey } from '../src/api-keys/key-form.js';
import { initDatabase } from '../src/database/init.js';
import type { ImportEntry } from '../src/markets/import/record-batches.js';
import { MarketWriter, type BatchTally } from '../src/markets/import/market-writer.js';
import { checkRecord } from '../src/markets/import/market-record.js';
import { bulkWrite, upsertOf, waitForMajority } from '../src/markets/import/stored-markets.js';
import { Market, MarketSchema } from '../src/markets/market.schema.js';
import { aRecord, counts, importTo, ndjson, REQUIRED_FIELDS } from './imports.js';
import { MARKET_INDEXES } from './market-indexes.js';
import { onMember, setFailCommand, timesFailed, writable } from './mongo-admin.js';
import { TestMongod, testDatabaseUri } from './mongo.js';
import { resultOf, runCli, runShell, startCli } from './run-cli.js';
import { runHere } from './run-here.js';
import { until } from './until.js';

const EARLIER = '2026-11-20T07:03:00.000Z';

let folder: string;
let client: MongoClient;
let db: Db;
let markets: Collection;
const uri = testDatabaseUri();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'markets-import-'));
  client = await MongoClient.connect(uri);
  db = client.db();
  markets = db.collection('markets');
});

afterAll(async () => {
  await db.dropDatabase();
  await client.close();
  await rm(folder, { recursive: true });
});

async function fileOf(content: string | Uint8Array): Promise<string> {
  const file = join(folder, randomUUID());
  await writeFile(file, content);
  return file;
}

const runImport = (args: string[], input?: string | Uint8Array) => importTo(uri, args, input);

/** As `importTo`, without the time that a program takes to start. */
const importInProcess: typeof importTo = (to, args, input) => importTo(to, args, input, runHere);

function entriesOf(records: readonly unknown[]): ImportEntry[] {
  return records.map((value, i) => {
    const { record } = checkRecord(value);
    if (!record) throw new Error('The factory makes no record');
    return { file: '-', line: i + 1, bytes: 500, record };
  });
}

/** Markets that an import has stored: what stores them for a command, without its process. */
async function importHere(collection: Collection, ...records: object[]): Promise<void> {
  const outcome = await new MarketWriter(collection, false).write(entriesOf(records));
  expect(outcome.counts).toEqual(counted({ inserted: records.length }));
}

function counted(some: Partial<BatchTally['counts']>) {
  return { inserted: 0, updated: 0, unchanged: 0, ...some };
}

function sumOf(outcomes: readonly BatchTally[]) {
  return outcomes.reduce(
    (sum, { counts: each }) => ({
      inserted: sum.inserted + each.inserted,
      updated: sum.updated + each.updated,
      unchanged: sum.unchanged + each.unchanged,
    }),
    counted({}),
  );
}

interface Reject {
  readonly file: string;
  readonly line: number;
  readonly field: string;
  readonly reason: string;
}

function lineOf({ file, line, field, reason }: Reject): string {
  return `${file}:${line}: ${field ? `${field}: ` : ''}${reason}`;
}

function storedMarkets(...records: { eventId: string }[]) {
  return markets.find({ eventId: { $in: records.map(({ eventId }) => eventId) } }).toArray();
}

describe('markets import', () => {
  it('brings markets in as others would store them', async () => {
    const dated = aRecord({ createdAt: EARLIER, updatedAt: '2026-11-20T09:03:00.5+01:00' });
    const whole = aRecord({ runners: [{ runnerId: 'r', name: 'Over', price: 2, line: '2.5' }] });
    const before = Date.now();
    const { code, report } = await runImport([await fileOf(ndjson(dated, whole))]);

    expect({ code, report }).toEqual({ code: 0, report: counts({ read: 2, inserted: 2 }) });
    expect(await storedMarkets(dated)).toEqual([
      {
        ...dated,
        _id: expect.anything(),
        createdAt: new Date(EARLIER),
        updatedAt: new Date('2026-11-20T08:03:00.500Z'),
      },
    ]);
    const [raw] = await markets
      .find({ eventId: whole.eventId }, { promoteValues: false })
      .toArray();
    expect(raw?.['runners'][0].price).toEqual(new Double(2));
    const [plain] = await storedMarkets(whole);
    expect(plain?.['createdAt']).toEqual(plain?.['updatedAt']);
    expect(plain?.['updatedAt'].getTime()).toBeGreaterThanOrEqual(before);
  });

  it('leaves unchanged markets alone and changes the others, fields of other writers kept', async () => {
    const same = aRecord();
    const changing = aRecord();
    const redated = aRecord({ createdAt: EARLIER });
    await importHere(markets, same, changing, redated);
    await markets.updateMany(
      { eventId: { $in: [same.eventId, changing.eventId] } },
      { $set: { feed: { sequence: 7 } } },
    );
    const [sameBefore, changingBefore, redatedBefore] = [
      ...(await storedMarkets(same)),
      ...(await storedMarkets(changing)),
      ...(await storedMarkets(redated)),
    ];

    // An expression of MongoDB would take it for a variable.
    const name = '$$Other';
    const changed = { ...changing, name, runners: [] };
    const later = { ...redated, createdAt: undefined, updatedAt: '2026-11-22T07:03:00.000Z' };
    const { code, report } = await runImport(['-'], ndjson(same, changed, later));

    expect({ code, report }).toEqual({
      code: 0,
      report: counts({ read: 3, updated: 1, unchanged: 2 }),
    });
    expect(await storedMarkets(same)).toEqual([sameBefore]);
    expect(await storedMarkets(redated)).toEqual([redatedBefore]);
    const [after] = await storedMarkets(changing);
    expect(after).toEqual({
      ...changingBefore,
      name,
      runners: [],
      updatedAt: expect.any(Date),
    });
    expect(after?.['updatedAt'].getTime()).toBeGreaterThan(changingBefore?.['updatedAt'].getTime());
  });

  it('mends a text that another writer stored as a list of that text, or as a regular expression', async () => {
    const [listed, expression] = [aRecord(), aRecord()];
    await importHere(markets, listed, expression);
    for (const [{ eventId, name }, stored] of [
      [listed, [listed.name]],
      [expression, new BSONRegExp('(?i)abc')],
    ] as const) {
      expect(await markets.updateOne({ eventId, name }, { $set: { name: stored } })).toMatchObject({
        modifiedCount: 1,
      });
    }

    const { report } = await importInProcess(uri, ['-'], ndjson(listed, expression));

    expect(report).toEqual(counts({ read: 2, updated: 2 }));
    const mended = [listed, expression].map((record) => expect.objectContaining(record));
    expect(await storedMarkets(listed, expression)).toEqual(expect.arrayContaining(mended));
  });

  it('mends runners that another writer stored as a list within their list', async () => {
    const [whole, empty] = [aRecord(), aRecord({ runners: [] })];
    await importHere(markets, whole, empty);
    for (const { eventId, runners } of [whole, empty]) {
      await markets.updateOne({ eventId }, { $set: { runners: [runners] } });
    }

    const { report } = await importInProcess(uri, ['-'], ndjson(whole, empty));

    expect(report).toEqual(counts({ read: 2, updated: 2 }));
    const mended = [whole, empty].map((record) => expect.objectContaining(record));
    expect(await storedMarkets(whole, empty)).toEqual(expect.arrayContaining(mended));
  });

  it('lets the last of one identity hold, within a file and over files', async () => {
    const first = aRecord({ name: 'First', createdAt: EARLIER });
    const last = { ...first, name: 'Last', createdAt: undefined };
    const files = [await fileOf(ndjson(first, first, last)), await fileOf(ndjson(first, last))];

    const { report } = await importInProcess(uri, files);

    expect(report).toEqual(counts({ read: 5, inserted: 1, updated: 1, unchanged: 3 }));
    expect(await storedMarkets(first)).toMatchObject([
      { name: 'Last', createdAt: new Date(EARLIER) },
    ]);
  });

  it('reads NDJSON and arrays, gzipped or not, by their content, from files and stdin', async () => {
    const records = Array.from({ length: 8 }, () => aRecord());
    const [a, b, c, d, e, f, g, h] = records;
    const files = [
      await fileOf(`\ufeff${JSON.stringify(a)}\r\n\r\n${JSON.stringify(b)}`),
      await fileOf(JSON.stringify([c, d], null, 2)),
      await fileOf(gzipSync(ndjson(e))),
      await fileOf(gzipSync(JSON.stringify([f]))),
      await fileOf(''),
    ];
    const fromFiles = await runImport([...files, '-'], gzipSync(ndjson(g, h)));

    expect(fromFiles).toMatchObject({
      code: 0,
      stderr: '',
      report: counts({ read: 8, inserted: 8 }),
    });
    expect(await storedMarkets(...records)).toHaveLength(8);
  });

  it('rejects bad records with their place, field and reason, and brings the good ones in', async () => {
    const [good, alsoGood] = [aRecord(), aRecord()];
    const bad = aRecord({
      marketMoment: 'Live',
      'odd\u001b[31m': 1,
      [generateKey()]: 1,
      runners: [{ price: '1.85' }],
    });
    const lines = [
      JSON.stringify(good),
      '{"cut',
      JSON.stringify(bad),
      '',
      JSON.stringify(alsoGood),
    ];
    const file = await fileOf(lines.join('\n'));
    const array = await fileOf(`[\n${JSON.stringify(good)},\n\n{"a":1 "b":2},\n[]]`);
    const notText = await fileOf(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]));
    const rejects = join(folder, 'rejects.ndjson');

    const result = await runImport([file, array, notText, '--rejects', rejects]);

    const written = (await readFile(rejects, 'utf8')).trimEnd().split('\n');
    const told: Reject[] = written.map((line) => JSON.parse(line));
    expect(told).toEqual([
      { file, line: 2, field: '', reason: expect.stringMatching(/^is not valid JSON/) },
      { file, line: 3, field: 'marketMoment', reason: 'must be one of live, prelive' },
      { file, line: 3, field: 'runners[0].runnerId', reason: 'is missing' },
      { file, line: 3, field: 'runners[0].name', reason: 'is missing' },
      { file, line: 3, field: 'runners[0].price', reason: 'must be a finite number above 0' },
      { file, line: 3, field: 'odd[31m', reason: 'is not a field of a market' },
      { file, line: 3, field: 'mos_[redacted]', reason: 'is not a field of a market' },
      { file: array, line: 4, field: '', reason: expect.stringMatching(/^is not valid JSON/) },
      { file: array, line: 5, field: '', reason: 'must be a JSON object' },
      { file: notText, line: 1, field: '', reason: 'is not valid UTF-8' },
    ]);
    expect(result.stderr.trimEnd().split('\n')).toEqual([
      ...told.map(lineOf),
      'error: 5 rejected, 0 allowed',
    ]);
    expect(result).toMatchObject({
      code: 1,
      report: counts({ read: 8, inserted: 2, unchanged: 1, rejected: 5 }),
    });
    expect(await storedMarkets(good, alsoGood)).toHaveLength(2);
  });

  it('keeps nothing of an earlier run in the file of rejects', async () => {
    const rejects = await fileOf('{"reason":"of an earlier run"}\n'.repeat(100));
    await expect(
      importInProcess(uri, ['-', '--rejects', rejects], ndjson({})),
    ).resolves.toMatchObject({
      code: 1,
    });
    expect(await readFile(rejects, 'utf8')).not.toContain('of an earlier run');
  });

  it('is done all the same with as many rejects as allowed', async () => {
    const input = ndjson(aRecord(), {}, {});
    await expect(importInProcess(uri, ['-', '--max-rejects', '2'], input)).resolves.toMatchObject({
      code: 0,
      report: counts({ read: 3, inserted: 1, rejected: 2 }),
    });
    await expect(importInProcess(uri, ['-', '--max-rejects', '1'], input)).resolves.toMatchObject({
      code: 1,
    });
  });

  it('tells markets apart exactly, whatever the collation of the collection', async () => {
    const other = testDatabaseUri();
    const otherClient = await MongoClient.connect(other);
    try {
      const collation = { locale: 'en', strength: 2 };
      const collection = await otherClient.db().createCollection('markets', { collation });
      const lower = aRecord({ marketId: 'm', name: 'before' });
      const upper = { ...lower, marketId: 'M' };
      await importInProcess(other, ['-'], ndjson(lower, upper));
      const result = await importInProcess(other, ['-'], ndjson({ ...upper, name: 'after' }));
      expect(result).toMatchObject({ code: 0, report: counts({ read: 1, updated: 1 }) });
      const stored = await collection.find().sort({ name: 1 }).toArray();
      expect(stored.map(({ marketId, name }) => [marketId, name])).toEqual([
        ['M', 'after'],
        ['m', 'before'],
      ]);
      const late = ['n', 'N'].map((marketId) => {
        const fields = { ...lower, marketId };
        return upsertOf({ changes: 1, fields, document: fields });
      });
      expect((await bulkWrite(collection, late)).upsertedCount).toBe(2);
    } finally {
      await otherClient.db().dropDatabase();
      await otherClient.close();
    }
  });

  it('rejects what MongoDB refuses, and goes on', async () => {
    const other = testDatabaseUri();
    const otherClient = await MongoClient.connect(other);
    try {
      await otherClient.db().createCollection('markets', {
        validator: { name: { $ne: 'Forbidden' } },
      });
      // Its text is below 16 MiB, its document above.
      const runners = Array.from({ length: 22_000 }, (_, index) => ({
        runnerId: 'r',
        name: 'n'.repeat(index < 15 ? 2 ** 20 : 1),
        price: 1,
      }));
      const forbidden = aRecord({ name: 'Forbidden' });
      const large = aRecord({ runners });
      const small = { ...large, runners: [] };
      const input = ndjson(forbidden, forbidden, small, large, aRecord());
      const { code, report, stderr } = await importInProcess(other, ['-'], input);
      expect({ code, report }).toEqual({
        code: 1,
        report: counts({ read: 5, inserted: 2, rejected: 3 }),
      });
      for (const line of [1, 2]) {
        expect(stderr).toContain(`-:${line}: MongoDB refuses it: Document failed validation\n`);
      }
      expect(stderr).toContain('-:4: makes a write above the 16 MiB of MongoDB\n');
      expect(stderr).not.toContain('-:3:');
      const { report: ofLarge } = await importInProcess(other, ['-'], ndjson(large));
      expect(ofLarge).toEqual(counts({ read: 1, rejected: 1 }));
    } finally {
      await otherClient.db().dropDatabase();
      await otherClient.close();
    }
  });

  it('rejects what a unique index of somebody else refuses, though it is tried again', async () => {
    const other = testDatabaseUri();
    const otherClient = await MongoClient.connect(other);
    try {
      await otherClient.db().collection('markets').createIndex({ name: 1 }, { unique: true });
      const input = ndjson(aRecord({ name: 'Same' }), aRecord({ name: 'Same' }));
      const { code, report, stderr } = await importInProcess(other, ['-'], input);
      expect({ code, report }).toEqual({
        code: 1,
        report: counts({ read: 2, inserted: 1, rejected: 1 }),
      });
      expect(stderr).toContain('-:2: MongoDB refuses it: E11000');
    } finally {
      await otherClient.db().dropDatabase();
      await otherClient.close();
    }
  });

  it('changes a market that is too large to stand in one command twice', async () => {
    const name = 'n'.repeat(9 * 2 ** 20);
    const record = aRecord({ name });
    const changed = { ...record, marketStatus: 'SUSPENDED' };
    const short = { ...record, name: 'short' };
    for (const [input, expected] of [
      [[record], { read: 1, inserted: 1 }],
      [[short, changed], { read: 2, updated: 2 }],
      [[changed], { read: 1, unchanged: 1 }],
    ] as const) {
      const { code, report } = await importInProcess(uri, ['-'], ndjson(...input));
      expect({ code, report }).toEqual({ code: 0, report: counts(expected) });
    }
  });

  it('fails for input that is cut, damaged or not there, but keeps what came before', async () => {
    const records = Array.from({ length: 60 }, () => aRecord());
    const cutGzip = await fileOf(gzipSync(ndjson(...records)).subarray(0, -12));
    const whole = aRecord();
    const cutArray = await fileOf(`[${JSON.stringify(whole)}, {"provider":`);
    const missing = join(folder, 'missing');

    const result = await runImport([missing, folder, cutGzip, cutArray]);

    expect(result.code).toBe(1);
    expect(result.stderr.trimEnd().split('\n')).toEqual([
      expect.stringMatching(`^error: ${missing}: can't be read: ENOENT`),
      expect.stringMatching(`^${folder}: can't be read: EISDIR`),
      `${cutGzip}: the gzip data is cut or damaged: unexpected end of file`,
      `${cutArray}: the array is cut: it does not end with ]`,
    ]);
    expect(await storedMarkets(whole)).toHaveLength(1);
    const found = await storedMarkets(...records);
    expect(found.length).toBeGreaterThan(50);
    expect(result.report).toEqual(counts({ read: found.length + 1, inserted: found.length + 1 }));
  });

  it('finds nothing in an empty input, and nothing wrong with it', async () => {
    await expect(importInProcess(uri, ['-'], '')).resolves.toMatchObject({
      code: 0,
      stderr: '',
      report: counts({}),
    });
  });

  it('writes nothing in a dry run, but tells what it would do', async () => {
    const other = testDatabaseUri();
    const otherClient = await MongoClient.connect(other);
    try {
      const args = ['-', '--dry-run'];
      await expect(importInProcess(other, args, ndjson(aRecord(), {}))).resolves.toMatchObject({
        code: 1,
        report: counts({ read: 2, inserted: 1, rejected: 1 }),
      });
      expect(await otherClient.db().listCollections().toArray()).toEqual([]);
    } finally {
      await otherClient.close();
    }
  });

  it('tells in a dry run what is stored, and what it would change', async () => {
    const [same, changing] = [aRecord(), aRecord()];
    await importHere(markets, same, changing);
    const input = ndjson(same, { ...changing, name: 'Other' }, aRecord());
    await expect(importInProcess(uri, ['-', '--dry-run'], input)).resolves.toMatchObject({
      code: 0,
      report: counts({ read: 3, inserted: 1, updated: 1, unchanged: 1 }),
    });
    expect(await storedMarkets(changing)).toMatchObject([{ name: changing.name }]);
  });

  it('tells people each of its counts, and whether it was a dry run', async () => {
    const [record, other] = [aRecord(), aRecord({ name: 'Other' })];
    const again = { ...record, name: 'Again' };
    const input = ndjson(record, again, record, record, record, record, other, {}, {}, {}, {});
    const told = '11 read: 2 inserted, 2 updated, 3 unchanged, 4 rejected';
    for (const [option, text] of [
      ['--dry-run', `${told} (dry run: nothing was written)\n`],
      ['--max-rejects=4', `${told}\n`],
    ] as const) {
      const args = ['markets', 'import', '-', option];
      const { stdout } = await runHere(args, { env: { MONGODB_URI: uri }, input });
      expect(stdout).toBe(text);
    }
  });

  it('makes the index of the identity before it writes, and tells when it can not', async () => {
    const other = testDatabaseUri();
    const otherClient = await MongoClient.connect(other);
    try {
      const twin = aRecord({ marketId: 'of\ntwo lines' });
      await otherClient
        .db()
        .collection('markets')
        .insertMany([
          { ...twin, _id: undefined },
          { ...twin, _id: undefined },
        ]);
      const result = await importTo(other, ['-'], ndjson(aRecord()));
      expect(result).toMatchObject({ code: 0, report: counts({ read: 1, inserted: 1 }) });
      expect(result.stderr).toMatch(
        /^warning: index markets\.market_identity can't be made: .*E11000.*\n$/,
      );

      await otherClient.db().collection('markets').deleteMany({});
      await importInProcess(other, ['-'], ndjson(aRecord()));
      const indexes = await otherClient.db().collection('markets').indexes();
      expect(indexes).toContainEqual(
        expect.objectContaining({ key: { provider: 1, eventId: 1, marketId: 1 }, unique: true }),
      );
    } finally {
      await otherClient.db().dropDatabase();
      await otherClient.close();
    }
  });

  it('makes no index where DB_INIT leaves that to others, and says which are missing', async () => {
    const other = testDatabaseUri();
    const otherClient = await MongoClient.connect(other);
    try {
      const env = { MONGODB_URI: other, DB_INIT: 'false' };
      const { stderr } = await runCli(['markets', 'import', '-'], {
        env,
        input: ndjson(aRecord()),
      });
      expect(stderr).toMatch(/^warning: The index markets\.market_identity is missing: "db init"/);
      const made = await otherClient.db().collection('markets').indexes();
      expect(made.map(({ name }) => name)).toEqual(['_id_']);
    } finally {
      await otherClient.db().dropDatabase();
      await otherClient.close();
    }
  });

  it('writes what has changed once, however many imports bring it at the same time', async () => {
    const connection = await mongoose.createConnection(uri, { autoIndex: false }).asPromise();
    try {
      const importer = new MarketWriter(
        connection.model(Market.name, MarketSchema).collection,
        false,
      );
      await initDatabase(connection);
      const records = Array.from({ length: 300 }, () => aRecord());
      const writeThrice = async (changes: object) => {
        const entries = entriesOf(records.map((record) => ({ ...record, ...changes })));
        return sumOf(await Promise.all([1, 2, 3].map(() => importer.write(entries))));
      };
      await expect(writeThrice({})).resolves.toEqual(counted({ inserted: 300, unchanged: 600 }));
      await expect(writeThrice({ name: 'Other', runners: [] })).resolves.toEqual(
        counted({ updated: 300, unchanged: 600 }),
      );
    } finally {
      await connection.close();
    }
  });

  it.each<[string, unknown, unknown]>([
    ['a number above 2^53', Long.MAX_VALUE, Long.MAX_VALUE],
    // In this order, which no object of JavaScript has.
    [
      'a document with numbers as names',
      new Map([
        ['b', 1],
        ['1', 2],
      ]),
      { b: 1, 1: 2 },
    ],
  ])(
    'makes no second market of one that others change as well, though no index forbids it: `_id` %s',
    async (_what, _id, found) => {
      const unindexed = db.collection(`unindexed-${randomUUID()}`);
      const record = aRecord();
      await unindexed.insertOne({ ...record, _id: _id as never });
      const importer = new MarketWriter(unindexed, false);
      const write = () => importer.write(entriesOf([{ ...record, name: 'Other' }]));

      const atOnce = await Promise.all([write(), write()]);

      expect(sumOf(atOnce)).toEqual(counted({ updated: 1, unchanged: 1 }));
      expect(await unindexed.find().toArray()).toMatchObject([{ _id: found, name: 'Other' }]);
    },
  );

  it('takes out of a stored market what its record lacks, once', async () => {
    const importer = new MarketWriter(markets, false);
    const whole = entriesOf([aRecord()]);
    await importer.write(whole);
    const lacking = whole.map((entry) => ({
      ...entry,
      record: { ...entry.record, marketStatus: undefined },
    }));
    const write = () => importer.write(lacking);

    const atOnce = await Promise.all([write(), write()]);
    expect(sumOf(atOnce)).toEqual(counted({ updated: 1, unchanged: 1 }));
    const stored = await markets.findOne({ marketId: whole[0]?.record.marketId });
    expect(stored).toHaveProperty('marketType');
    expect(stored).not.toHaveProperty('marketStatus');
    expect(sumOf([await write()])).toEqual(counted({ unchanged: 1 }));
  });

  describe('while others write, or MongoDB fails,', () => {
    let mongod: TestMongod;
    let other: MongoClient;
    let collection: Collection;

    beforeAll(async () => {
      mongod = await TestMongod.start();
      other = await MongoClient.connect(mongod.uri);
      collection = await other.db().createCollection('markets');
    });

    beforeEach(async () => {
      await collection.deleteMany();
    });

    afterEach(async () => {
      await setFailCommand(mongod, 'off');
      await validate({});
    });

    afterAll(async () => {
      await other.close();
      await mongod.stop();
    });

    /** Imports records, while somebody else writes once the import has reached the failpoint. */
    async function importWhile(failPoint: string, records: object[], write: () => Promise<void>) {
      const admin = other.db('admin');
      const { count } = await admin.command({ configureFailPoint: failPoint, mode: 'alwaysOn' });
      const importing = importInProcess(mongod.uri, ['-'], ndjson(...records));
      const timesEntered = count + 1;
      await admin.command({ waitForFailPoint: failPoint, timesEntered, maxTimeMS: 15_000 });
      await write();
      await admin.command({ configureFailPoint: failPoint, mode: 'off' });
      return importing;
    }

    function administer(command: object) {
      return onMember(mongod, 0, (member) => member.db('admin').command(command));
    }

    function forbidWrites(global: boolean) {
      return administer({ setUserWriteBlockMode: 1, global });
    }

    function validate(validator: object) {
      return other.db().command({ collMod: 'markets', validator });
    }

    it('changes a market that somebody else makes', async () => {
      const record = aRecord();
      const { provider, eventId, marketId } = record;
      const result = await importWhile('hangDuringBatchInsert', [record], async () => {
        const update = { $set: { feed: 7 } };
        await collection.updateOne({ provider, eventId, marketId }, update, { upsert: true });
      });
      expect(result).toMatchObject({ code: 0, report: counts({ read: 1, updated: 1 }) });
      expect(await collection.find().toArray()).toEqual([
        { ...record, _id: expect.anything(), feed: 7, updatedAt: expect.any(Date) },
      ]);
    });

    it('says what MongoDB refuses of a market that somebody else has removed', async () => {
      const record = aRecord();
      await importHere(collection, record);
      await validate({ name: { $ne: 'Forbidden' } });
      const forbidden = { ...record, name: 'Forbidden' };
      const result = await importWhile('hangDuringBatchUpdate', [forbidden], async () => {
        await collection.deleteOne({ marketId: record.marketId });
      });
      expect(result).toMatchObject({ code: 1, report: counts({ read: 1, rejected: 1 }) });
    });

    it('compares with the newest state, and waits for a majority, whatever the connection string says', async () => {
      await other.db().command({ profile: 2 });
      const options = '&w=1&wtimeoutMS=1&readConcernLevel=majority';
      await importInProcess(mongod.uri + options, ['-'], ndjson(aRecord()));
      await other.db().command({ profile: 0 });
      const profile = other.db().collection('system.profile');
      const [query] = await profile.find({ op: 'query', ns: /\.markets$/ }).toArray();
      expect(query?.['command'].readConcern.level).toBe('local');
      // In another collation MongoDB finds no index for it.
      expect(query?.['command'].collation).toEqual({ locale: 'simple' });
      const inserts = await profile.find({ op: 'insert', ns: /\.markets$/ }).toArray();
      expect(inserts.map(({ command }) => command.writeConcern)).toEqual([{ w: 'majority' }]);
    });

    it('compares with what the primary has, so that a dry run without one fails', async () => {
      await administer({ replSetStepDown: 60, force: true });
      try {
        const result = await importInProcess(mongod.uri, ['-', '--dry-run'], ndjson(aRecord()));
        expect(result).toMatchObject({ code: 1, report: counts({}) });
        expect(result.stderr).toContain("error: MongoDB can't be used: ");
      } finally {
        await administer({ replSetFreeze: 0 });
        await writable(mongod);
      }
    });

    it('writes nothing in a dry run, not even where nothing would change: a reader may run it', async () => {
      const record = aRecord();
      await importHere(collection, record);
      const refused = { failCommands: ['update', 'insert'], errorCode: 13 };
      await setFailCommand(mongod, 'alwaysOn', refused);
      const result = await importInProcess(mongod.uri, ['-', '--dry-run'], ndjson(record));
      expect(result).toMatchObject({ code: 0, report: counts({ read: 1, unchanged: 1 }) });
    });

    it('finds out what somebody else makes of stored markets', async () => {
      const ids = ['alone', 'same', 'other', 'gone', 'moved'];
      const record = aRecord();
      const records = (name: string) => ids.map((marketId) => ({ ...record, marketId, name }));
      await importHere(collection, ...records('before'));
      const theirs = new Date(0);
      const result = await importWhile('hangDuringBatchUpdate', records('new'), async () => {
        const write = (marketId: string, change: object) =>
          collection.findOneAndUpdate({ marketId }, { $set: change });
        await write('same', { name: 'new', updatedAt: theirs });
        await write('other', { name: 'theirs', updatedAt: theirs });
        await collection.deleteOne({ marketId: 'gone' });
        await write('moved', { marketId: 'elsewhere' });
      });
      const report = counts({ read: 5, inserted: 2, updated: 2, unchanged: 1 });
      expect(result).toMatchObject({ code: 0, report });
      const stored = await collection.find().toArray();
      const names = stored.map(({ marketId, name }) => `${marketId}: ${name}`);
      expect(names.toSorted()).toEqual(
        [...ids.map((id) => `${id}: new`), 'elsewhere: before'].toSorted(),
      );
      for (const market of stored) expect(market).toHaveProperty('createdAt', expect.any(Date));
      const untouched = stored.filter(({ updatedAt }) => updatedAt.getTime() === theirs.getTime());
      expect(untouched.map(({ marketId }) => marketId)).toEqual(['same']);
    });

    it('counts records by what became of their own market', async () => {
      const record = aRecord();
      const named = (marketId: string, name: string) => ({ ...record, marketId, name });
      await importHere(collection, named('once', 'before'), named('twice', 'before'));
      const records = [named('once', 'new'), named('twice', 'first'), named('twice', 'new')];
      const result = await importWhile('hangDuringBatchUpdate', records, async () => {
        await collection.findOneAndUpdate({ marketId: 'once' }, { $set: { name: 'new' } });
      });
      const report = counts({ read: 3, updated: 2, unchanged: 1 });
      expect(result).toMatchObject({ code: 0, report });
    });

    it('counts nothing as stored when it is cut off, or a majority may lack it', async () => {
      await validate({ name: { $ne: 'Forbidden' } });
      const input = ndjson(aRecord(), aRecord({ name: 'Forbidden' }));
      const unchanged = aRecord();
      await importHere(collection, unchanged);
      const lacking = { writeConcernError: { code: 64, errmsg: 'waiting for replication' } };
      for (const failure of [{ closeConnection: true }, lacking]) {
        const data = { failCommands: ['insert', 'update'], ...failure };
        await setFailCommand(mongod, 'alwaysOn', data);
        for (const records of [input, ndjson(unchanged)]) {
          const { code, report, stderr } = await importInProcess(mongod.uri, ['-'], records);
          expect({ code, report }).toEqual({ code: 1, report: counts({}) });
          expect(stderr).toMatch(
            /^error: MongoDB can't be used: .+\nThe import can be run again\.\n$/,
          );
        }
      }
    });

    it('compares anew when what it found may be lost with the primary, beside other changes or alone', async () => {
      const gone = { errorCode: 10_107, errorLabels: ['RetryableWriteError'] };
      const late = { blockConnection: true, blockTimeMS: 500 };
      for (const others of [[], [aRecord()]]) {
        const record = aRecord();
        await importHere(collection, record);
        const before = await timesFailed(other);
        await setFailCommand(mongod, { times: 1 }, { failCommands: ['update'], ...gone, ...late });
        const importing = importInProcess(mongod.uri, ['-'], ndjson(record, ...others));
        await until(async () => (await timesFailed(other)) > before, 5_000);
        // The next primary lacks it.
        await collection.deleteOne({ marketId: record.marketId });
        const records = 1 + others.length;
        const report = counts({ read: records, inserted: records });
        expect(await importing).toMatchObject({ code: 0, report });
      }
    });

    it('waits with a feed while an operator forbids writes, as for a migration', async () => {
      const env = { MONGODB_URI: mongod.uri };
      await forbidWrites(true);
      const child = startCli(['markets', 'import', '--json', '--follow', '-'], { env });
      try {
        child.stdin.end(ndjson(aRecord()));
        await once(child.stderr, 'readable');
        await forbidWrites(false);
        const { code, stdout, stderr } = await resultOf(child);
        expect(stderr).toMatch(/^Waiting for MongoDB: .+\n$/);
        expect(JSON.parse(stdout)).toEqual(counts({ read: 1, inserted: 1 }));
        expect(code).toBe(0);
      } finally {
        child.kill('SIGKILL');
        await forbidWrites(false);
      }
    });

    it.each([
      ['lets a feed wait for', ['--follow'], 0, /^Waiting for MongoDB: .+\n$/, 1],
      ['fails rather than go on without', [], 1, /^error: MongoDB can't be used: .+\n.+\n$/, 0],
    ])(
      '%s the index of the identity where it begins without a primary',
      async (_what, options, code, said, inserted) => {
        await collection.drop();
        const noPrimary = { failCommands: ['create', 'collMod'], errorCode: 10_107 };
        await setFailCommand(mongod, { times: 3 }, noPrimary);
        const input = ndjson(aRecord());
        const result = await importInProcess(mongod.uri, ['-', ...options], input);
        expect(result.stderr).toMatch(said);
        expect(result.code).toBe(code);
        expect(await collection.countDocuments()).toBe(inserted);
        const indexes = await collection.indexes().catch(() => []);
        expect(indexes.some(({ unique }) => unique)).toBe(inserted === 1);
        // Makes the collection again for the next test.
        await collection.insertOne({});
      },
    );

    it('goes on while somebody builds an index: no import needs the images, which wait for that', async () => {
      const off = { changeStreamPreAndPostImages: { enabled: false } };
      await other.db().command({ collMod: 'markets', ...off });
      await setFailCommand(mongod, 'alwaysOn', { failCommands: ['collMod'], errorCode: 12_587 });
      const result = await importInProcess(mongod.uri, ['-'], ndjson(aRecord()));
      expect(result).toMatchObject({ code: 0, report: counts({ read: 1, inserted: 1 }) });
      expect(result.stderr).toMatch(
        /^warning: pre- and post-images of markets can't be made: .+\n$/,
      );
    });

    it('ends well at SIGTERM while a feed waits for the indexes', async () => {
      await collection.dropIndexes();
      const noPrimary = { failCommands: ['createIndexes'], errorCode: 10_107 };
      await setFailCommand(mongod, 'alwaysOn', noPrimary);
      const env = { MONGODB_URI: mongod.uri };
      const child = startCli(['markets', 'import', '--json', '--follow', '-'], { env });
      try {
        await once(child.stderr, 'readable');
        const [began, before] = [performance.now(), await onMember(mongod, 0, timesFailed)];
        await delay(300);
        child.kill('SIGTERM');
        const { code, stdout } = await resultOf(child);
        expect(JSON.parse(stdout)).toEqual(counts({}));
        expect(code).toBe(0);
        const tries = (await onMember(mongod, 0, timesFailed)) - before;
        // With a pause in between.
        expect(tries).toBeLessThanOrEqual(
          MARKET_INDEXES.length * (2 + (performance.now() - began) / 250),
        );
      } finally {
        child.kill('SIGKILL');
      }
    });

    it('ends at once when MongoDB refuses what a feed has brought, though nothing more comes', async () => {
      const env = { MONGODB_URI: mongod.uri };
      const child = startCli(['markets', 'import', '--follow', '-'], { env });
      try {
        const UNAUTHORIZED = 13;
        const refused = { failCommands: ['insert'], errorCode: UNAUTHORIZED };
        await setFailCommand(mongod, 'alwaysOn', refused);
        child.stdin.write(`${ndjson(aRecord())}\n`);
        const { code, stderr } = await resultOf(child);
        expect(code).toBe(1);
        expect(stderr).toContain("MongoDB can't be used");
      } finally {
        child.kill('SIGKILL');
      }
    });
  });

  it('waits for a majority of what is unchanged, whatever the connection string says', async () => {
    const other = await MongoClient.connect(uri, { monitorCommands: true, w: 1 });
    const asked: unknown[] = [];
    other.on('commandStarted', ({ command }) => asked.push(command['writeConcern']));
    try {
      await waitForMajority(other.db().collection('markets'));
    } finally {
      await other.close();
    }
    expect(asked[0]).toEqual({ w: 'majority' });
  });

  it('stops at a signal after the batch at hand, and says how far it came', async () => {
    const child = startCli(['markets', 'import', '--json', '-'], { env: { MONGODB_URI: uri } });
    const records = Array.from({ length: 1_000 }, () => aRecord());
    child.stdin.write(`${ndjson(...records)}\n`);
    const ended = resultOf(child);
    const { eventId } = records[999] ?? aRecord();
    await until(async () => (await markets.countDocuments({ eventId })) > 0);
    child.kill('SIGTERM');
    const { code, stdout, stderr } = await ended;
    expect({ code, stderr, report: JSON.parse(stdout) as unknown }).toEqual({
      code: 1,
      stderr: 'error: stopped by SIGTERM\n',
      report: counts({ read: 1_000, inserted: 1_000 }),
    });
  });

  it('takes a directory for no empty input', async () => {
    const env = { MONGODB_URI: uri };
    const { code, stderr } = await runShell(`markets markets import - <${folder}`, { env });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('EISDIR') });
  });

  it('prints nothing that a terminal could obey', async () => {
    const { stderr } = await runImport(['no\u001b[31m\u009b2J\n\u202efile']);
    expect(stderr).toMatch(/^error: no\[31m2Jfile: can't be read: ENOENT[^\n]*no\[31m2Jfile'\n$/);
  });

  it('follows a feed: each record is stored as it comes, and SIGTERM ends it well', async () => {
    const child = startCli(['markets', 'import', '--json', '--follow', '-'], {
      env: { MONGODB_URI: uri },
    });
    const ended = resultOf(child);
    const records = [aRecord(), aRecord(), aRecord()];
    for (const record of records) {
      const before = Date.now();
      child.stdin.write(`${JSON.stringify(record)}\n`);
      await until(async () => (await storedMarkets(record)).length === 1);
      const [stored] = await storedMarkets(record);
      expect(stored?.['updatedAt'].getTime()).toBeGreaterThanOrEqual(before);
    }
    // In one piece with a whole record, so that both have been read when that is told.
    child.stdin.write('{}\n{"provider":"unfinis');
    await once(child.stderr, 'readable');
    child.kill('SIGTERM');
    const { code, stdout, stderr } = await ended;
    expect(JSON.parse(stdout)).toEqual(counts({ read: 4, inserted: 3, rejected: 1 }));
    expect(code).toBe(1);
    expect(stderr.trimEnd().split('\n')).toHaveLength(REQUIRED_FIELDS + 1);
  });

  it.each([String, gzipSync])(
    'leaves out a line that SIGTERM has cut, though its input ends just then',
    async (encode) => {
      const child = startCli(['markets', 'import', '--json', '--follow', '-'], {
        env: { MONGODB_URI: uri },
      });
      const ended = resultOf(child);
      child.stdin.write(encode('{}\n{"provider":"unfinis'));
      await once(child.stderr, 'readable');
      child.kill('SIGTERM');
      child.stdin.end();
      const { stdout, stderr } = await ended;
      expect(JSON.parse(stdout)).toEqual(counts({ read: 1, rejected: 1 }));
      expect(stderr).toMatch(/\nerror: 1 rejected, 0 allowed\n$/);
    },
  );

  it('stores what came in one piece with the record at which SIGTERM found it', async () => {
    const env = { MONGODB_URI: uri };
    const child = startCli(['markets', 'import', '--follow', '-'], { env });
    const good = aRecord();
    child.stdin.write(`${'{}\n'.repeat(2_000)}${ndjson(good)}\n`);
    await once(child.stderr, 'readable');
    child.kill('SIGTERM');
    await resultOf(child);
    expect(await storedMarkets(good)).toHaveLength(1);
  });

  it('refuses a usage that makes no sense', async () => {
    const file = await fileOf('');
    const usages = [
      ['-', '-'],
      [file, '--rejects', file],
      [file, '--follow'],
      ['-', file, '--follow'],
      ['-', '--max-rejects', '-1'],
    ];
    const results = await Promise.all(usages.map((args) => runImport(args)));
    expect(results).toEqual(usages.map(() => expect.objectContaining({ code: 2, stdout: '' })));
    await expect(
      runImport(['-', '--rejects', join(folder, 'no', 'folder')]),
    ).resolves.toMatchObject({
      code: 1,
      report: counts({}),
      stderr: expect.stringMatching(/can't be written: ENOENT/),
    });
  });
});
