import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Command } from 'commander';
import { MongoClient, type Db } from 'mongodb';
import { generateKey } from '../src/api-keys/key-form.js';
import { addKeysCommands } from '../src/api-keys/keys.commands.js';
import { addDbCommands } from '../src/db-admin/db.commands.js';
import { addImportCommand } from '../src/markets/import/import.command.js';
import { aMarket } from './factories.js';
import { Line } from './line.js';
import { MARKET_INDEXES } from './market-indexes.js';
import { registrationOf } from './module-of.js';
import { testDatabaseUri } from './mongo.js';
import { resultOf, runCli, startCli } from './run-cli.js';
import { runHere } from './run-here.js';
import { until } from './until.js';

const PAGE_INDEXES = MARKET_INDEXES.filter((name) => name !== 'market_identity');
const UNREACHABLE = 'mongodb://punter:s3cret@127.0.0.1:9/odds';

let client: MongoClient;

beforeAll(async () => {
  client = await MongoClient.connect(testDatabaseUri());
});

afterAll(async () => {
  await client.close();
});

/** Gives a database of its own to some work. */
async function withDatabase(
  work: (db: Db, run: typeof runHere, env: Record<string, string>) => Promise<void>,
): Promise<void> {
  const uri = testDatabaseUri();
  const db = client.db(new URL(uri).pathname.slice(1));
  try {
    const env = { MONGODB_URI: uri };
    await work(db, (args) => runHere(args, { env }), env);
  } finally {
    await db.dropDatabase();
  }
}

describe('the command line', () => {
  it.each([
    ['', ['keys', 'markets', 'db']],
    ['keys create', ['--name', '--expires-in', '--rate-limit', '--json']],
    ['keys rotate', ['--overlap', '(default: 24h)', '--json']],
    ['markets import', ['--dry-run', '--rejects', '--max-rejects', '--json', 'gzipped']],
  ])('explains "%s" on request', async (command, words) => {
    const { code, stdout, stderr } = await runCli(
      [...command.split(' '), '--help'].filter(Boolean),
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const word of words) expect(stdout).toContain(word);
  });

  it.each([
    ['', 'Usage:'],
    ['db', 'Usage:'],
    ['db nonsense', "unknown command 'nonsense'"],
    ['db status extra', 'too many arguments'],
    ['db status --nonsense', "unknown option '--nonsense'"],
    ['keys create --name x --expires-in 0d', 'whole number above 0'],
    ['db x\u001b[31m\u009b2J', "unknown command 'x[31m2J'"],
  ])('calls "%s" wrong usage', async (command, message) => {
    const { code, stdout, stderr } = await runCli(command.split(' ').filter(Boolean));
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
    expect(stderr).toContain('--help');
    expect(stderr).not.toMatch(/[^\P{Cc}\n]/u);
  });

  it('tells its version', async () => {
    const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
    const { code, stdout, stderr } = await runCli(['--version']);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  });

  it('has all its commands and options in the README', async () => {
    const program = new Command();
    for (const add of [addKeysCommands, addImportCommand, addDbCommands])
      add(program, () => async () => {});
    const rows = program.commands.flatMap((group) =>
      group.commands.flatMap((command) => [
        `\`${group.name()} ${command.name()}`,
        ...command.options.map(({ long }) => `${long}`),
      ]),
    );
    expect(rows).toContain('`keys create');
    const readme = await readFile('README.md', 'utf8');
    expect(rows.filter((row) => !readme.includes(row))).toEqual([]);
  });

  it('names bad settings, but not their values', async () => {
    const env = { MONGODB_URI: 'odds://punter:s3cret@host', PORT: '99999' };
    const { code, stdout, stderr } = await runCli(['db', 'status'], { env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error: Bad settings:\n {2}PORT .+\n {2}MONGODB_URI .+\n$/);
    expect(stderr).not.toMatch(/99999|s3cret/);
  });

  it('reads the first line of a .env that begins with a byte order mark, and tells its other faults besides', async () => {
    const cwd = await mkdtemp(join(tmpdir(), 'markets-cli-'));
    try {
      await writeFile(join(cwd, '.env'), '\ufeffPORT=99999\nLOG LEVEL=debug\n');
      const { code, stderr } = await runCli(['db', 'status'], { cwd });
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr:
          'error: Bad settings:\n  .env has a line that is not NAME=value: line 2\n' +
          '  PORT must be a whole number from 0 to 65535\n',
      });
    } finally {
      await rm(cwd, { recursive: true });
    }
  });

  it('takes signals from before it loads what it needs: as process 1 of a container it would else ignore them', async () => {
    const registration = registrationOf(`
      export const load = (url, context, next) => {
        if (url.endsWith('/cli.database.js')) process.kill(process.pid, 'SIGTERM');
        return next(url, context);
      };`);
    const env = { MONGODB_URI: testDatabaseUri(), NODE_OPTIONS: `--import ${registration}` };
    const { code, stderr } = await runCli(['keys', 'list'], { env });
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'error: stopped by SIGTERM\n' });
  });

  it('says why MongoDB can not be reached, without its password', async () => {
    const { code, stdout, stderr } = await runCli(['db', 'status', '--json'], {
      env: { MONGODB_URI: UNREACHABLE },
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error: MongoDB can't be reached: .*ECONNREFUSED.*\n$/);
    expect(stderr).not.toContain('s3cret');
  });

  it('does not repeat a key that stands in the place of a file', async () => {
    const key = generateKey();
    const { code, stderr } = await runCli(['markets', 'import', '--dry-run', key], {
      env: { MONGODB_URI: testDatabaseUri() },
    });
    expect(code).toBe(1);
    expect(stderr).toContain("can't be read: ENOENT");
    expect(stderr).not.toContain(key);
  });

  it('does not repeat a key that is wrong usage', async () => {
    const { code, stderr } = await runCli(['keys', generateKey()]);
    expect(code).toBe(2);
    expect(stderr).toContain("unknown command 'mos_[redacted]'");
  });

  it('says what to look at where no server is of the replica set that is named', async () => {
    const uri = new URL(testDatabaseUri());
    uri.searchParams.delete('directConnection');
    uri.searchParams.set('replicaSet', 'another');
    const { code, stderr } = await runCli(['db', 'status'], { env: { MONGODB_URI: uri.href } });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /timed out \(no host of MONGODB_URI answers, or none is of its replicaSet\)\n$/,
    );
  });

  it('ends at a signal while it waits for the embedded MongoDB, whose data somebody else has', async () => {
    const cwd = await mkdtemp(join(tmpdir(), 'markets-cli-'));
    const inUse = '{"s":"F","attr":{"error":"DBPathInUse: locked"}}';
    const script = `case $1 in --version) echo db version v7.0.0;; *) echo >>tried; echo '${inUse}'; exit 1;; esac`;
    const program = join(cwd, 'mongod');
    await writeFile(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const env = { EMBEDDED_DB_PATH: join(cwd, 'db'), MONGOMS_SYSTEM_BINARY: program };
    const child = startCli(['keys', 'list'], { env, cwd });
    try {
      const ended = resultOf(child);
      await until(() => existsSync(join(cwd, 'tried')));
      child.kill('SIGTERM');
      const stderr = 'error: stopped by SIGTERM\n';
      expect(await ended).toEqual({ code: 1, stdout: '', stderr });
    } finally {
      child.kill('SIGKILL');
      await rm(cwd, { recursive: true });
    }
  });

  it('reaches a MongoDB that is far away', async () => {
    const uri = new URL(testDatabaseUri());
    const line = await new Line(Number(uri.port)).listen();
    // Six round trips of 100 ms, as they are with TLS and a password.
    line.underWayMs = 600;
    uri.host = new URL(line.url).host;
    uri.search = '?directConnection=true';
    try {
      const listed = await runCli(['keys', 'list', '--json'], { env: { MONGODB_URI: uri.href } });
      expect(listed).toEqual({ code: 0, stdout: '[]\n', stderr: '' });
    } finally {
      line.close();
    }
  });
});

describe('db init', () => {
  it('does nothing when it is told to end while it connects', async () => {
    const { port } = new URL(testDatabaseUri());
    const line = await new Line(Number(port)).listen();
    line.underWayMs = 400;
    try {
      await withDatabase(async (db, _run, { MONGODB_URI = '' }) => {
        const uri = new URL(MONGODB_URI);
        uri.port = String(line.port);
        uri.searchParams.set('directConnection', 'true');
        const connected = line.connection();
        const child = startCli(['db', 'init'], { env: { MONGODB_URI: uri.href } });
        const result = resultOf(child);
        await connected;
        child.kill('SIGTERM');
        line.underWayMs = 0;
        expect(await result).toEqual({
          code: 1,
          stdout: '',
          stderr: 'error: stopped by SIGTERM\n',
        });
        expect(await db.listCollections().toArray()).toEqual([]);
      });
    } finally {
      line.close();
    }
  });

  it('makes collections, pre-images and indexes, and does not mind to find them', async () => {
    await withDatabase(async (db, run) => {
      for (const round of ['made', 'found']) {
        const { code, stdout, stderr } = await run(['db', 'init', '--json']);
        expect({ round, code, stderr }).toEqual({ round, code: 0, stderr: '' });
        expect(JSON.parse(stdout)).toEqual({
          items: [
            'collection markets',
            'collection api_keys',
            'pre- and post-images of markets',
            ...MARKET_INDEXES.map((name) => `index markets.${name}`),
          ].map((what) => ({ what, ok: true })),
        });
      }
      const [options] = await db.listCollections({ name: 'markets' }).toArray();
      expect(options).toMatchObject({
        options: { changeStreamPreAndPostImages: { enabled: true } },
      });
      const indexes = await db.collection('markets').indexes();
      expect(indexes.map(({ name }) => name)).toEqual(['_id_', ...MARKET_INDEXES]);
    });
  });

  it('takes an index of another name and order, and leaves those of others', async () => {
    await withDatabase(async (db, run) => {
      const markets = db.collection('markets');
      await markets.createIndex(
        { eventId: 1, provider: 1, marketId: 1 },
        { unique: true, name: 'a' },
      );
      await markets.createIndex({ marketStatus: 1 }, { name: 'b' });
      await expect(run(['db', 'init'])).resolves.toMatchObject({ code: 0 });
      const names = (await markets.indexes()).map(({ name }) => name);
      expect(names).toEqual(['_id_', 'a', 'b', ...PAGE_INDEXES]);
    });
  });

  it('takes no index that lets duplicates in for the one that does not', async () => {
    await withDatabase(async (db, run) => {
      const markets = db.collection('markets');
      await markets.createIndex({ eventId: 1, provider: 1, marketId: 1 }, { name: 'a' });
      await expect(run(['db', 'init'])).resolves.toMatchObject({ code: 0 });
      expect(await markets.indexes()).toContainEqual(
        expect.objectContaining({ name: 'market_identity', unique: true }),
      );
    });
  });

  it('says what duplicates keep from being made, and makes the rest', async () => {
    await withDatabase(async (db, run) => {
      const { provider, eventId, marketId } = aMarket();
      const twins = [1, 2].map(() => ({ provider, eventId, marketId }));
      await db.collection('markets').insertMany(twins);
      const { code, stdout, stderr } = await run(['db', 'init']);
      expect(code).toBe(1);
      expect(stdout).toMatch(
        /^FAILED {2}index markets\.market_identity: .*E11000 duplicate key.+$/m,
      );
      for (const name of PAGE_INDEXES) expect(stdout).toContain(`ok      index markets.${name}\n`);
      expect(stderr).toBe('error: 1 of 6 could not be made\n');
      await expect(db.collection('markets').countDocuments()).resolves.toBe(2);

      const status = await run(['db', 'status', '--json']);
      expect(JSON.parse(status.stdout).indexes).toEqual(
        MARKET_INDEXES.map((name) => ({
          collection: 'markets',
          name,
          present: name !== 'market_identity',
        })),
      );
    });
  });
});

describe('db status', () => {
  it('shows a replica set with all that is made', async () => {
    await withDatabase(async (db, run) => {
      await run(['db', 'init']);
      await db.collection('markets').insertOne({ name: 'any' });
      const { code, stdout } = await run(['db', 'status', '--json']);
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toEqual({
        database: db.databaseName,
        serverVersion: expect.stringMatching(/^\d+\.\d+\.\d+/),
        topology: {
          type: 'replica set',
          replicaSet: expect.any(String),
          members: [{ name: expect.stringMatching(/^127\.0\.0\.1:\d+$/), state: 'PRIMARY' }],
        },
        collections: [
          { name: 'markets', exists: true, estimatedCount: 1, preAndPostImages: true },
          { name: 'api_keys', exists: true, estimatedCount: 0 },
        ],
        indexes: MARKET_INDEXES.map((name) => ({
          collection: 'markets',
          name,
          present: true,
        })),
        changeFeed: { on: true },
        newestChange: {
          at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
          ageSeconds: expect.any(Number),
          searchedSeconds: expect.any(Number),
        },
      });
    });
  });

  it('tells the newest of however many changes of markets, not of keys', async () => {
    await withDatabase(async (db, run) => {
      const [markets, keys] = ['markets', 'api_keys'].map((name) =>
        db.collection<{ _id: string }>(name),
      );
      // More than come in one reply.
      await markets?.insertMany(
        Array.from({ length: 1_001 }, (_, index) => ({ _id: index === 0 ? 'a' : `${index}` })),
      );
      await delay(10);
      const before = Date.now();
      await markets?.updateOne({ _id: 'a' }, { $set: { name: 'b' } });
      const after = Date.now();
      await delay(10);
      await keys?.insertOne({ _id: 'later' });

      const { stdout } = await run(['db', 'status']);

      const [, at = ''] = /^newest change +(\S+Z), \d s ago$/m.exec(stdout) ?? [];
      expect(Date.parse(at)).toBeGreaterThanOrEqual(before);
      expect(Date.parse(at)).toBeLessThanOrEqual(after);
    });
  });

  it('looks without touching', async () => {
    await withDatabase(async (db, run) => {
      const { code, stdout } = await run(['db', 'status']);
      expect(code).toBe(0);
      expect(stdout).toMatch(/^topology +replica set \S+: 127\.0\.0\.1:\d+ PRIMARY$/m);
      expect(stdout).toMatch(/^newest change +none in the oplog of the last \d+ s$/m);
      expect(stdout).toMatch(/^markets +no +about 0 +no$/m);
      expect(stdout).toMatch(/^markets\.market_identity +no$/m);
      expect(await db.listCollections().toArray()).toEqual([]);
    });
  });
});
