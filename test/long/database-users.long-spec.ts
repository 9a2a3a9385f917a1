import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  jest,
} from '@jest/globals';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { MongoClient, MongoServerError } from 'mongodb';
import supertest from 'supertest';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ApiKeysService } from '../../src/api-keys/api-keys.service.js';
import { generateKey, keyIdOf } from '../../src/api-keys/key-form.js';
import { createApp } from '../../src/app.setup.js';
import { ChangeFeed } from '../../src/change-feed/change-feed.js';
import { Config } from '../../src/config.js';
import { Database } from '../../src/database/database.js';
import { DRIVER_OPTIONS } from '../../src/database/driver-options.js';
import { databaseStatus } from '../../src/db-admin/status.js';
import { collectionOptions, initDatabase } from '../../src/database/init.js';
import { createLogger } from '../../src/telemetry/logger.js';
import { Metrics } from '../../src/telemetry/metrics.js';
import { MarketSchema } from '../../src/markets/market.schema.js';
import { aMarket } from '../factories.js';
import { aRecord, counts, importTo, ndjson } from '../imports.js';
import { Line } from '../line.js';
import { TestMongod } from '../mongo.js';
import { APP_NAME } from '../mongo-admin.js';
import { MongosDisguise } from '../mongos-disguise.js';
import { runHere } from '../run-here.js';
import { until } from '../until.js';

const UNAUTHORIZED = 13;
const REFUSED = 'MongoDB refuses reads: Unauthorized';
const DATABASE = 'markets-odds';
/** The promise is 2 s; a busy machine gets more. */
const REVOKED_WITHIN_MS = 5_000;
const PASSWORD = 'not-a-secret';

interface Privilege {
  readonly collection: string;
  readonly actions: readonly string[];
}

/** In the driver's words, to which `_id` is nothing unknown. */
const asDocument = (market: object) => ({ ...market });

/** A user for each role, named like it; made under root, whom MongoDB lets in on loopback while there are no users. */
async function makeUsers(mongod: TestMongod): Promise<MongoClient> {
  const first = new MongoClient(mongod.memberUri());
  await first.db('admin').command({ createUser: 'root', pwd: PASSWORD, roles: ['root'] });
  await first.close();
  const root = new MongoClient(mongod.memberUri(), {
    auth: { username: 'root', password: PASSWORD },
  });
  const roles: Record<string, Privilege[]> = JSON.parse(
    await readFile('deploy/mongodb/roles.json', 'utf8'),
  );
  const db = root.db(DATABASE);
  for (const [role, privileges] of Object.entries(roles)) {
    const resources = privileges.map(({ collection, actions }) => ({
      resource: { db: DATABASE, collection },
      actions,
    }));
    await db.command({ createRole: role, privileges: resources, roles: [] });
    await db.command({ createUser: role, pwd: PASSWORD, roles: [role] });
  }
  return root;
}

const mayIn = (collection: string, action: string) => ({
  privileges: [{ resource: { db: DATABASE, collection }, actions: [action] }],
});

describe('The database users of deploy/mongodb/roles.json', () => {
  let folder: string;
  let mongod: TestMongod;
  let root: MongoClient;
  const apps: NestExpressApplication[] = [];
  /** What the applications of the test at hand have logged. */
  let logged: string[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'markets-odds-deploy-'));
    const keyFile = join(folder, 'keyfile');
    await writeFile(keyFile, 'bWFya2V0cy1vZGRz', { mode: 0o400 });
    mongod = await TestMongod.start({ args: [`--keyFile=${keyFile}`] });
    root = await makeUsers(mongod);
  }, 60_000);

  afterAll(async () => {
    await root.close();
    await mongod.stop();
    await rm(folder, { recursive: true });
  });

  beforeEach(() => {
    logged = [];
  });

  // Those of a failed test, too: Jest would wait for them for ever.
  afterEach(() => Promise.all(apps.splice(0).map((app) => app.close())));

  const uriOf = (user: string) =>
    `mongodb://${user}:${PASSWORD}@127.0.0.1:${mongod.ports[0]}/${DATABASE}?replicaSet=test`;

  async function connectedApp(
    user: string,
    { dbInit = false, mongodbUri = uriOf(user) } = {},
  ): Promise<NestExpressApplication> {
    const config = Object.assign(new Config(), { mongodbUri, dbInit });
    const metrics = new Metrics(0);
    const logger = createLogger(config, { write: (line) => void logged.push(line) });
    const app = await createApp(config, logger, { metrics });
    apps.push(app);
    let ready = 0;
    app.get(Database).onClient((client) => client.on('connectionReady', () => (ready += 1)));
    await app.get(Database).connectEventually();
    // A connection that is opened when its user is gone fails, and takes those of before along.
    await until(() => ready >= DRIVER_OPTIONS.minPoolSize);
    await app.listen(0, '127.0.0.1');
    return app;
  }

  /** The errors in the log with this message. */
  const errorsLogged = (msg: string) =>
    logged.filter((line) => line.startsWith('{"level":"error"') && line.includes(`"msg":"${msg}`));

  /** Codes of the errors with which MongoDB refuses; none for what it lets pass. */
  async function refusals(user: string, attempts: ((client: MongoClient) => Promise<unknown>)[]) {
    const client = await MongoClient.connect(uriOf(user));
    try {
      return await Promise.all(
        attempts.map((attempt) =>
          attempt(client).then(
            () => undefined,
            (error: unknown) => (error instanceof MongoServerError ? error.code : error),
          ),
        ),
      );
    } finally {
      await client.close();
    }
  }

  /** How many clients of the driver the applications have: each waits for news nearly all the time, on its own connection. */
  async function clients(): Promise<number> {
    const waiting = { 'command.maxAwaitTimeMS': { $exists: true }, appName: APP_NAME };
    const calls = [{ $currentOp: { allUsers: true } }, { $match: waiting }];
    const found = new Set<number>();
    for (let look = 0; look < 10; look += 1) {
      const now = await root.db('admin').aggregate(calls).toArray();
      for (const { connectionId } of now) found.add(connectionId);
      await delay(50);
    }
    return found.size;
  }

  it('let the service serve, follow changes and see that the operator revokes a key', async () => {
    const operator = await connectedApp('marketsOperator');
    expect(await initDatabase(operator.get(Database).connection)).not.toContainEqual(
      expect.objectContaining({ ok: false }),
    );
    const { key } = await keysOf(operator).create({ name: 'deploy' });

    const service = await connectedApp('marketsService');
    const market = aMarket();
    await root.db(DATABASE).collection('markets').insertOne(asDocument(market));
    const get = () =>
      supertest(service.getHttpServer())
        .get(`/v1/markets/market/fixture/${market.fixtureId}`)
        .set('X-API-Key', key);

    const answer = await get();
    expect(answer.status).toBe(200);
    expect(answer.body.meta.itemCount).toBe(1);

    const status = await databaseStatus(service.get(Database).connection);
    expect(status.changeFeed).toEqual({ on: true });
    expect(status.indexes.map(({ present }) => present)).not.toContain(null);

    await keysOf(operator).revoke(keyIdOf(key) ?? '');
    await until(async () => (await get()).status === 401, REVOKED_WITHIN_MS);
  });

  it('reach a MongoDB that is far away', async () => {
    const line = await new Line(mongod.ports[0] ?? 0).listen();
    line.underWayMs = 250;
    const uri = new URL(uriOf('marketsService'));
    uri.host = new URL(line.url).host;
    uri.search = '?directConnection=true';
    try {
      const service = await connectedApp('marketsService', { mongodbUri: uri.href });
      await until(() => service.get(ChangeFeed).status.state !== 'blind');
    } finally {
      line.close();
    }
  });

  it('need to read keys, too: without them the service is not ready', async () => {
    const service = await connectedApp('marketsService');
    const ready = async () =>
      (await supertest(service.getHttpServer()).get('/health/ready')).status;
    const grant = { grantPrivilegesToRole: 'marketsService' };
    const revoke = { revokePrivilegesFromRole: 'marketsService' };
    await until(async () => (await ready()) === 200);
    await root.db(DATABASE).command({ ...grant, ...mayIn('markets', 'find') });
    await root.db(DATABASE).command({ ...revoke, ...mayIn('', 'find') });
    await until(async () => (await ready()) === 503, 5_000);
    const [began, before] = [performance.now(), errorsLogged(REFUSED).length];
    for (let asked = 0; asked < 30; asked += 1) {
      const request = supertest(service.getHttpServer()).get('/v1/markets/market/fixture/x');
      await request.set('X-API-Key', generateKey()).expect(503);
    }
    const after = errorsLogged(REFUSED).length;
    expect(after).toBeGreaterThan(0);
    // A line each second tells of all.
    expect(after - before).toBeLessThanOrEqual(1 + (performance.now() - began) / 1_000);
    await root.db(DATABASE).command({ ...grant, ...mayIn('', 'find') });
    await until(async () => (await ready()) === 200);
  });

  it('need to follow changes, too: without that, one line says why the feed is blind', async () => {
    const { privileges } = mayIn('', 'changeStream');
    await root.db(DATABASE).command({ revokePrivilegesFromRole: 'marketsService', privileges });
    try {
      const service = await connectedApp('marketsService');
      const begin = jest.spyOn(service.get(ChangeFeed).listeners, 'forgetAll');
      for (let tries = 1; tries <= 3; tries += 1) {
        // MongoDB repeats the command that it refuses, with the time of the newest write.
        await root.db(DATABASE).collection('markets').insertOne(asDocument(aMarket()));
        await until(() => begin.mock.calls.length >= tries);
      }
      const told = logged.filter((line) => line.includes('The change feed is blind'));
      expect(told).toEqual([
        expect.stringContaining('not authorized on markets-odds to execute command aggregate"'),
      ]);
    } finally {
      await root.db(DATABASE).command({ grantPrivilegesToRole: 'marketsService', privileges });
    }
  });

  it('may be dropped and made again: the service logs in anew, and keeps no client of before', async () => {
    const operator = await connectedApp('marketsOperator');
    const { key } = await keysOf(operator).create({ name: 'anew' });
    const service = await connectedApp('marketsService');
    const status = async () => {
      const server = service.getHttpServer();
      const request = supertest(server).get('/v1/markets/market/fixture/anew');
      return (await request.set('X-API-Key', key)).status;
    };
    await until(async () => (await status()) === 200 && service.get(ChangeFeed).isCurrent);
    const metrics = async () => (await supertest(service.getHttpServer()).get('/metrics')).text;
    const isUp = async () => (await metrics()).includes('\nmongodb_up 1\n');
    await until(isUp);
    const roles = ['marketsService'];
    const make = () =>
      root.db(DATABASE).command({ createUser: 'marketsService', pwd: PASSWORD, roles });
    await root.db(DATABASE).command({ dropUser: 'marketsService' });
    // The change feed finds out, though nobody asks for anything.
    await until(async () => !(await isUp()), 5_000);
    expect(await status()).toBe(503);
    await until(() => errorsLogged('MongoDB refuses us: Authentication failed').length > 0);
    // Each try to log in makes new connections, which are let go again.
    const deadline = performance.now() + 1_000;
    while (performance.now() < deadline) expect(await isUp()).toBe(false);
    // What fails again in the same way is not told again.
    const told = logged.flatMap(
      (line) => /"msg":"(MongoDB (?:refuses us|can't be reached): .*)"/.exec(line)?.[1] ?? [],
    );
    expect(told.filter((each, index) => each === told[index - 1])).toEqual([]);
    await make();
    await until(async () => (await status()) === 200 && service.get(ChangeFeed).isCurrent);
    // As often as it happens. While the pool fills, the driver would find out by itself.
    await until(
      async () => /^mongodb_pool_connections ([89]|\d\d)\b/m.test(await metrics()),
      5_000,
    );
    await root.db(DATABASE).command({ dropUser: 'marketsService' });
    await until(async () => (await status()) === 503);
    await make();
    await until(async () => (await status()) === 200);
    await until(isUp);
    // Each application has one for the change feed alone.
    await until(async () => (await clients()) <= 2 * apps.length, 5_000);
  });

  it('may be dropped and made again behind a mongos, too, where no change feed finds out', async () => {
    const mongos = await new MongosDisguise(mongod.ports[0] ?? 0).listen();
    const db = root.db(DATABASE);
    try {
      const mongodbUri = `mongodb://marketsService:${PASSWORD}@127.0.0.1:${mongos.port}/${DATABASE}`;
      const service = await connectedApp('marketsService', { mongodbUri });
      const readiness = async () =>
        (await supertest(service.getHttpServer()).get('/health/ready')).status;
      await until(async () => (await readiness()) === 200);
      await db.command({ dropUser: 'marketsService' });
      await until(async () => (await readiness()) === 503);
      await db.command({ createUser: 'marketsService', pwd: PASSWORD, roles: ['marketsService'] });
      await until(async () => (await readiness()) === 200, 10_000);
    } finally {
      await Promise.all(apps.splice(0).map((app) => app.close()));
      mongos.close();
    }
  });

  it('are not needed to begin: the built-in role readWrite makes all that is wanted in an empty database', async () => {
    const name = 'empty';
    const roles = [{ role: 'readWrite', db: name }];
    await root.db(name).command({ createUser: 'host', pwd: PASSWORD, roles });
    const MONGODB_URI = uriOf('host').replace(DATABASE, name);
    const { code, stdout } = await runHere(['db', 'init'], { env: { MONGODB_URI } });
    expect({ code, failed: /FAILED.*/.exec(stdout)?.[0] }).toEqual({ code: 0, failed: undefined });
    expect(await collectionOptions(root.db(name), 'markets')).toEqual({
      changeStreamPreAndPostImages: { enabled: true },
    });
  });

  it('let the service turn on no images, which it does not try again and again', async () => {
    const markets = root.db(DATABASE).collection('markets');
    const images = (enabled: boolean) =>
      root.db(DATABASE).command({ collMod: 'markets', changeStreamPreAndPostImages: { enabled } });
    const looks = async (): Promise<number> =>
      (await root.db('admin').command({ serverStatus: 1 }))['metrics'].commands.listIndexes.total;
    await initDatabase((await connectedApp('marketsOperator')).get(Database).connection);
    await images(false);
    const app = await connectedApp('marketsService', { dbInit: true });
    await until(() => app.get(ChangeFeed).isCurrent);
    const { insertedId: _id } = await markets.insertOne(asDocument(aMarket()));
    const before = await looks();
    // It looks once a second.
    const deadline = performance.now() + 4_500;
    while (performance.now() < deadline) {
      await markets.updateOne({ _id }, { $set: { name: `${performance.now()}` } });
      await delay(50);
    }
    await images(true);
    // Each time at all indexes: once for the collection as it is, once for the first change without its image.
    expect((await looks()) - before).toBeLessThanOrEqual(2 * MarketSchema.indexes().length);
  });

  it('let the change feed see the whole database, pre-images included', async () => {
    const client = await MongoClient.connect(uriOf('marketsService'));
    const stream = client
      .db()
      .watch([], { fullDocument: 'whenAvailable', fullDocumentBeforeChange: 'whenAvailable' });
    try {
      const market = aMarket();
      await stream.tryNext(); // opens it
      await root.db(DATABASE).collection('markets').insertOne(asDocument(market));
      expect(await stream.next()).toMatchObject({
        operationType: 'insert',
        ns: { coll: 'markets' },
      });
    } finally {
      await stream.close();
      await client.close();
    }
  });

  it('let the service write nothing', async () => {
    const attempts = [
      (client: MongoClient) => client.db().collection('markets').insertOne(asDocument(aMarket())),
      (client: MongoClient) =>
        client
          .db()
          .collection('markets')
          .updateOne({}, { $set: { a: 1 } }),
      (client: MongoClient) => client.db().collection('markets').deleteOne({}),
      (client: MongoClient) => client.db().collection('api_keys').insertOne({ name: 'mine' }),
      (client: MongoClient) => client.db().collection('api_keys').deleteOne({}),
      (client: MongoClient) =>
        client
          .db()
          .collection('api_keys')
          .updateOne({}, { $unset: { revokedAt: 1 } }),
      (client: MongoClient) => client.db().command({ collMod: 'markets', expireAfterSeconds: 1 }),
      (client: MongoClient) => client.db().collection('markets').createIndex({ name: 1 }),
      (client: MongoClient) => client.db().createCollection('mine'),
      (client: MongoClient) => client.db().collection('markets').drop(),
      (client: MongoClient) => client.db('other').collection('markets').findOne(),
      (client: MongoClient) => client.db('admin').collection('system.users').findOne(),
    ];
    expect(await refusals('marketsService', attempts)).toEqual(attempts.map(() => UNAUTHORIZED));
  });

  it('let the operator import markets, and bring them up to date', async () => {
    const record = aRecord();
    const changed = { ...record, marketStatus: 'SUSPENDED' };
    for (const [input, done] of [
      [record, { inserted: 1 }],
      [changed, { updated: 1 }],
    ] as const) {
      const uri = uriOf('marketsOperator');
      const { report } = await importTo(uri, ['-'], ndjson(input), runHere);
      expect(report).toEqual(counts({ read: 1, ...done }));
    }
  });

  it('let the operator take back a key that could not be shown', async () => {
    const keys = keysOf(await connectedApp('marketsOperator'));
    const unseen = new Error('stdout is closed');
    const creating = keys.create({ name: 'unseen' }, () => Promise.reject(unseen));
    await expect(creating).rejects.toBe(unseen);
    expect((await keys.list()).map(({ name }) => name)).not.toContain('unseen');
  });

  it('let the operator drop nothing, write to no other collection and read no other database', async () => {
    const attempts = [
      (client: MongoClient) => client.db().collection('markets').drop(),
      (client: MongoClient) => client.db().collection('markets').deleteOne({}),
      (client: MongoClient) => client.db().dropDatabase(),
      (client: MongoClient) => client.db().collection('api_keys').createIndex({ createdAt: 1 }),
      (client: MongoClient) => client.db().collection('other').insertOne({}),
      (client: MongoClient) => client.db('other').collection('markets').findOne(),
    ];
    expect(await refusals('marketsOperator', attempts)).toEqual(attempts.map(() => UNAUTHORIZED));
  });
});

function keysOf(app: NestExpressApplication): ApiKeysService {
  return new ApiKeysService(app.get(Database).connection);
}
