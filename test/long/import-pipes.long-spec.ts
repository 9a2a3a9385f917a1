import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  constants,
  link,
  mkdtemp,
  open,
  readdir,
  readFile,
  readlink,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MongoClient, type Collection, type Db } from 'mongodb';
import { aRecord, counts, importTo, ndjson, REQUIRED_FIELDS } from '../imports.js';
import { moduleOf } from '../module-of.js';
import { testDatabaseUri } from '../mongo.js';
import { resultOf, runShell, startCli } from '../run-cli.js';
import { until } from '../until.js';

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

/** What a process has open, by path. */
async function openFilesOf(pid = 0): Promise<string[]> {
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []);
  const links = descriptors.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => ''));
  return Promise.all(links);
}

function storedMarkets(...records: { eventId: string }[]) {
  return markets.find({ eventId: { $in: records.map(({ eventId }) => eventId) } }).toArray();
}

describe('markets import', () => {
  it('never empties its own input, by whatever name the rejects go', async () => {
    const content = ndjson({});
    const file = await fileOf(content);
    const [hardLink, symbolicLink] = [join(folder, randomUUID()), join(folder, randomUUID())];
    await link(file, hardLink);
    await symlink(file, symbolicLink);
    const wrong = { code: 2, stdout: '' };
    await expect(runImport([file, '--rejects', hardLink])).resolves.toMatchObject(wrong);
    await expect(runImport([file, '--rejects', symbolicLink])).resolves.toMatchObject(wrong);
    const second = [await fileOf(content), file, '--rejects', symbolicLink];
    await expect(runImport(second)).resolves.toMatchObject(wrong);
    const fromStdin = await runShell(`markets markets import - --rejects ${hardLink} <${file}`, {
      env: { MONGODB_URI: uri },
    });
    expect(fromStdin).toMatchObject(wrong);
    expect(await readFile(file, 'utf8')).toBe(content);
    const missing = join(folder, randomUUID());
    const otherwise = missing.replace(folder, `${folder}/.`);
    await expect(runImport([missing, '--rejects', missing])).resolves.toMatchObject(wrong);
    await expect(runImport([missing, '--rejects', otherwise])).resolves.toMatchObject(wrong);
  });

  it('ends at a signal while it waits for somebody to open a FIFO', async () => {
    const fifo = join(folder, randomUUID());
    execFileSync('mkfifo', [fifo]);
    const child = startCli(['markets', 'import', '--json', fifo], { env: { MONGODB_URI: uri } });
    const ended = resultOf(child);
    await until(async () => (await openFilesOf(child.pid)).includes(fifo));
    child.kill('SIGINT');
    await expect(ended).resolves.toMatchObject({ code: 1, stderr: 'error: stopped by SIGINT\n' });

    const record = aRecord();
    const reading = runImport([fifo]);
    await writeFile(fifo, ndjson(record));
    await expect(reading).resolves.toMatchObject({
      code: 0,
      report: counts({ read: 1, inserted: 1 }),
    });
  });

  it('fails where nobody opens the FIFO that the rejects should go to, in place of waiting', async () => {
    const fifo = join(folder, randomUUID());
    execFileSync('mkfifo', [fifo]);
    const { code, stderr } = await runImport(['-', '--rejects', fifo], ndjson({}));
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(`^error: ${fifo} can't be written: ENXIO`),
    });
  });

  it('waits for a slow reader of the rejects', async () => {
    const fifo = join(folder, randomUUID());
    execFileSync('mkfifo', [fifo]);
    // On a busy machine the reader may open it later than the import, which would fail.
    const held = await open(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
    // Nobody reads until the pipe is long full.
    const reading = runShell(`exec 3<${fifo}; sleep 0.5; wc -l <&3`);
    const records = Array.from({ length: 200 }, () => ({}));
    const result = await runImport(
      ['-', '--rejects', fifo, '--max-rejects', '200'],
      ndjson(...records),
    );
    await held.close();
    expect(result).toMatchObject({ code: 0, report: counts({ read: 200, rejected: 200 }) });
    expect(Number((await reading).stdout)).toBe(200 * REQUIRED_FIELDS);
  });

  it('tells each reject to a slow reader, and the final error last', async () => {
    const child = startCli(['markets', 'import', '-'], { env: { MONGODB_URI: uri } });
    child.stdin.end('{}\n'.repeat(3_000));
    // Nobody reads until the pipe is long full.
    await once(child.stderr, 'readable');
    await delay(500);
    const { code, stderr } = await resultOf(child);
    const lines = stderr.trimEnd().split('\n');
    expect({ code, lines: lines.length, last: lines.at(-1) }).toEqual({
      code: 1,
      lines: 3_000 * REQUIRED_FIELDS + 1,
      last: 'error: 3000 rejected, 0 allowed',
    });
  });

  it('needs little memory for a record with two million faults', async () => {
    const tellPeak = 'process.on("exit",()=>process._rawDebug(process.resourceUsage().maxRSS))';
    // Without a shell between them, the peak is never below what this process has: Linux hands it on.
    const { code, stderr } = await runShell('markets markets import -', {
      env: {
        MONGODB_URI: uri,
        NODE_OPTIONS: `--import ${moduleOf(tellPeak)}`,
      },
      input: `{"runners":[${'1,'.repeat(2_000_000)}1]}`,
    });
    const lines = stderr.trimEnd().split('\n');
    expect({ code, lines: lines.length }).toEqual({ code: 1, lines: 23 });
    expect(lines[20]).toMatch(/: and 1\d{6} more$/);
    expect(Number(lines.at(-1)) / 1024).toBeLessThan(400);
  });

  it('loses nothing of 2,000 lines a second, the last of them without another to push it', async () => {
    const child = startCli(['markets', 'import', '--json', '--follow', '-'], {
      env: { MONGODB_URI: uri },
    });
    const ended = resultOf(child);
    const fixtureId = randomUUID();
    for (let tick = 0; tick < 100; tick++) {
      const records = Array.from({ length: 20 }, () => aRecord({ fixtureId }));
      child.stdin.write(`${ndjson(...records)}\n`);
      await delay(10);
    }
    await until(async () => (await markets.countDocuments({ fixtureId })) === 2_000);
    child.stdin.end();
    const { code, stdout } = await ended;
    expect({ code, report: JSON.parse(stdout) as unknown }).toEqual({
      code: 0,
      report: counts({ read: 2_000, inserted: 2_000 }),
    });
  });

  it.each(['', '--follow'])(
    'stores what was good before a reject that can not be told %s',
    async (follow) => {
      const good = aRecord();
      const { code, report, stderr } = await runImport(
        ['-', '--rejects', '/dev/full', follow].filter(Boolean),
        ndjson(good, {}),
      );
      expect({ code, report }).toEqual({
        code: 1,
        report: counts({ read: 2, inserted: 1, rejected: 1 }),
      });
      expect(stderr).toMatch(/\nerror: \/dev\/full can't be written: ENOSPC[^\n]*\n$/);
      expect(stderr).not.toContain('Waiting for MongoDB');
      expect(await storedMarkets(good)).toHaveLength(1);
    },
  );
});
