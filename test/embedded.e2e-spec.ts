import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { MongoClient } from 'mongodb';

// What runs is the build, since a keeper is a process of its own: `npm test` builds before.
const built = new URL('../dist/database/embedded/embedded.js', import.meta.url).href;

/** Opens the database, prints its connection string, and closes it on a signal, after one more ping. */
const userProgram = `
  import { MongoClient } from 'mongodb';
  import { openEmbedded } from '${built}';
  const embedded = await openEmbedded(process.argv[1], (line) => console.error(line));
  // Stays; the end of the input is the end of the tests, for whatever reason.
  process.stdin.resume().once('end', () => process.exit());
  process.once('SIGINT', async () => {
    const client = new MongoClient(embedded.uri);
    await client.db('admin').command({ ping: 1 });
    await client.close();
    await embedded.close();
    process.stdin.destroy();
  });
  console.log(embedded.uri);`;

// Many processes start and end here; a busy machine takes its time.
jest.setTimeout(60_000);

let folder: string;
let users: ChildProcess[];

beforeEach(async () => {
  users = [];
  folder = await mkdtemp(join(tmpdir(), 'markets-odds embedded '));
});

afterEach(async () => {
  const running = users.filter(({ exitCode, signalCode }) => exitCode === null && !signalCode);
  running.forEach((user) => user.kill('SIGKILL'));
  const pid = await mongodPid();
  if (pid > 0) await gone(pid);
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

function startUser(path = folder): ChildProcess {
  const user = spawn(process.execPath, ['--input-type=module', '-e', userProgram, path], {
    // A process group of its own, as a terminal gives to a command.
    detached: true,
    stdio: 'pipe',
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  users.push(user);
  return user;
}

async function uriOf({ stdout, stderr }: ChildProcess): Promise<string> {
  if (!stdout || !stderr) throw new Error('No output');
  let complaint = '';
  stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text));
  for await (const line of createInterface({ input: stdout })) return line;
  throw new Error(complaint);
}

async function open(path?: string): Promise<{ user: ChildProcess; uri: string }> {
  const user = startUser(path);
  return { user, uri: await uriOf(user) };
}

/** As Ctrl-C in a terminal: the whole process group gets the signal. */
async function interrupt(user: ChildProcess): Promise<void> {
  const exit = once(user, 'exit');
  process.kill(-Number(user.pid), 'SIGINT');
  expect(await exit).toEqual([0, null]);
}

async function kill(user: ChildProcess): Promise<void> {
  const exit = once(user, 'exit');
  user.kill('SIGKILL');
  await exit;
}

async function mongodPid(): Promise<number> {
  return Number(await readFile(join(folder, 'mongod.lock'), 'utf8').catch(() => ''));
}

async function keeperPid(): Promise<number> {
  const { pid }: { pid: number } = JSON.parse(await readFile(join(folder, 'keeper.json'), 'utf8'));
  return pid;
}

async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Not within 10 s: ${String(condition)}`);
    await delay(20);
  }
}

async function gone(pid: number): Promise<void> {
  await until(() => !isAlive(pid));
}

/** Whether a process runs; one that is dead and not yet reaped does not. */
function isAlive(pid: number): boolean {
  try {
    // It may end between any two looks, and while it is read.
    return existsSync('/proc/self')
      ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== ''
      : process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Puts a document in and tells how many there are; waits for a MongoDB that is coming back. */
async function addOne(uri: string): Promise<number> {
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: 15_000 });
  try {
    const documents = client.db('test').collection('documents');
    await documents.insertOne({});
    return await documents.countDocuments();
  } finally {
    await client.close();
  }
}

async function answers(host: string, port: number): Promise<boolean> {
  const socket = connect({ host, port, timeout: 1_000 });
  const events = ['connect', 'error', 'timeout'];
  const first = await new Promise((resolve) => {
    events.forEach((event) => socket.once(event, () => resolve(event)));
  });
  socket.destroy();
  return first === 'connect';
}

describe('the embedded MongoDB', () => {
  test('is shared by users who start at once, and ends with the last of them', async () => {
    const [first, second] = await Promise.all([open(), open()]);
    expect(second.uri).toBe(first.uri);
    const mongod = await mongodPid();

    await interrupt(first.user);
    expect(await addOne(second.uri)).toBe(1);
    expect(await mongodPid()).toBe(mongod);

    const keeper = await keeperPid();
    await interrupt(second.user);
    expect(isAlive(mongod)).toBe(false);
    await gone(keeper);
  });

  test('is out of reach of the signals that a terminal sends to the user who started it', async () => {
    const first = await open();
    process.kill(-Number(first.user.pid), 'SIGSTOP');
    const second = await open();
    expect(second.uri).toBe(first.uri);
    expect(await addOne(second.uri)).toBe(1);
  });

  test('finds its data again, by the same connection string', async () => {
    const before = await open();
    expect(await addOne(before.uri)).toBe(1);
    await interrupt(before.user);

    const after = await open();
    expect(after.uri).toBe(before.uri);
    expect(await addOne(after.uri)).toBe(2);
  });

  test('finds its data again when another process has taken its port', async () => {
    const before = await open();
    expect(await addOne(before.uri)).toBe(1);
    await interrupt(before.user);

    const elsewhere = join(folder, 'elsewhere');
    await mkdir(elsewhere);
    await writeFile(join(elsewhere, 'keeper.json'), await readFile(join(folder, 'keeper.json')));
    const other = await open(elsewhere);
    expect(other.uri).toBe(before.uri);

    const after = await open();
    expect(after.uri).not.toBe(before.uri);
    expect(await addOne(after.uri)).toBe(2);
    await interrupt(other.user);
  });

  test('listens on 127.0.0.1 only', async () => {
    const { uri } = await open();
    const port = Number(new URL(uri).port);
    const others = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .filter(({ internal, scopeid }) => !internal && !scopeid)
      .map(({ address }) => address);

    expect(await answers('127.0.0.1', port)).toBe(true);
    for (const host of ['127.0.0.2', '::1', ...others]) {
      expect([host, await answers(host, port)]).toEqual([host, false]);
    }
  });

  test('ends when its only user is killed', async () => {
    const { user } = await open();
    const [mongod, keeper] = [await mongodPid(), await keeperPid()];
    await kill(user);
    await gone(keeper);
    expect(isAlive(mongod)).toBe(false);
  });

  test('ends when the user who starts it is killed meanwhile', async () => {
    const user = startUser();
    await until(async () => (await mongodPid()) > 0);
    const mongod = await mongodPid();
    await kill(user);
    await gone(mongod);
    expect(await addOne((await open()).uri)).toBe(1);
  });

  test('comes back for its users when mongod is killed', async () => {
    const { user, uri } = await open();
    expect(await addOne(uri)).toBe(1);
    const mongod = await mongodPid();
    process.kill(mongod, 'SIGKILL');
    await gone(mongod);
    expect(await addOne(uri)).toBe(2);
    const next = await mongodPid();
    await interrupt(user);
    expect(isAlive(next)).toBe(false);
  });

  test('comes back for its users when its keeper is killed', async () => {
    const [first, second] = await Promise.all([open(), open()]);
    expect(await addOne(first.uri)).toBe(1);
    const [mongod, keeper] = [await mongodPid(), await keeperPid()];
    process.kill(keeper, 'SIGKILL');
    await gone(mongod);
    expect(await addOne(second.uri)).toBe(2);
    const next = await mongodPid();
    await Promise.all([interrupt(first.user), interrupt(second.user)]);
    expect(isAlive(next)).toBe(false);
  });

  test('starts again after all that could have ended its mongod was killed', async () => {
    // Only /proc tells whose child a process is.
    if (process.platform !== 'linux') return;
    const { user, uri } = await open();
    expect(await addOne(uri)).toBe(1);
    const mongod = await mongodPid();
    const status = await readFile(`/proc/${mongod}/status`, 'utf8');
    const guard = Number(/^PPid:\s*(\d+)$/m.exec(status)?.[1]);
    const keeper = await keeperPid();
    [user.pid ?? 0, keeper, guard].forEach((pid) => process.kill(pid, 'SIGSTOP'));
    [user.pid ?? 0, keeper, guard].forEach((pid) => process.kill(pid, 'SIGKILL'));
    await gone(keeper);
    await gone(guard);
    expect(isAlive(mongod)).toBe(true);

    expect(await addOne((await open()).uri)).toBe(2);
    expect(isAlive(mongod)).toBe(false);
  });

  test('says why it can not run', async () => {
    const path = join(folder, 'a file');
    await writeFile(path, '');
    await expect(open(path)).rejects.toThrow(`The embedded MongoDB in ${path} can't run: EEXIST`);

    await mkdir(join(folder, 'mongod.lock'));
    await expect(open()).rejects.toThrow(/can't run: mongod did not start: .*lock file.*directory/);
  });
});
