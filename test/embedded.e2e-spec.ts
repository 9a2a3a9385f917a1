import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { MongoClient } from 'mongodb';
import { DEMO_KEY } from '../src/api-keys/demo-key.js';
import { demoMarkets } from '../src/demo/demo-markets.js';
import { findMongod } from '../src/embedded-mongod/find-mongod.js';
import { freePort } from '../src/embedded-mongod/free-port.js';
import { MongodProcess } from '../src/embedded-mongod/mongod-process.js';
import { until } from './until.js';

// What runs is the build, in processes of their own: `npm test` builds before.
const built = new URL('../dist/embedded-mongod/embedded.js', import.meta.url).href;

/** Opens the database, prints its connection string, and closes it on SIGINT. */
const userProgram = `
  import { openEmbedded } from '${built}';
  const [, path, name, shared, unknownUserMs] = process.argv;
  const options = { path, name, shared: shared === 'true', unknownUserMs: Number(unknownUserMs) };
  const embedded = await openEmbedded(options, (line) => console.error(line));
  // Stays; the end of the input is the end of the tests, for whatever reason.
  process.stdin.resume().once('end', () => process.exit());
  process.once('SIGINT', async () => {
    await embedded.close();
    process.stdin.destroy();
  });
  console.log(embedded.uri);`;

// Many processes start and end here; a busy machine takes its time.
jest.setTimeout(60_000);

let folder: string;
let processes: ChildProcess[];
let foreign: MongodProcess | undefined;

beforeEach(async () => {
  processes = [];
  foreign = undefined;
  folder = await mkdtemp(join(tmpdir(), 'markets-odds embedded '));
});

afterEach(async () => {
  for (const each of processes) {
    if (each.exitCode === null && !each.signalCode) each.kill('SIGKILL');
  }
  await foreign?.end();
  await mongodGone();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

class User {
  readonly uri: Promise<string>;
  complaint = '';

  constructor(
    readonly name: 'the server' | 'a command',
    readonly path = folder,
    // On a busy machine a mongod of ours takes long to start.
    unknownUserMs = 60_000,
  ) {
    const shared = String(name === 'the server');
    const script = ['--input-type=module', '-e', userProgram];
    const args = [...script, path, name, shared, String(unknownUserMs)];
    this.process = start(process.execPath, args);
    this.process.stderr?.setEncoding('utf8').on('data', (text) => (this.complaint += text));
    this.uri = this.firstLine();
    this.uri.catch(() => undefined);
  }

  readonly process: ChildProcess;

  private async firstLine(): Promise<string> {
    const { stdout } = this.process;
    if (stdout) for await (const line of createInterface({ input: stdout })) return line;
    throw new Error(this.complaint);
  }
}

function start(program: string, args: string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  const child = spawn(program, args, {
    // A process group of its own, as a terminal gives to a command.
    detached: true,
    stdio: 'pipe',
    env: { ...process.env, NODE_OPTIONS: '', ...env },
  });
  processes.push(child);
  return child;
}

/** As Ctrl-C in a terminal: the whole process group gets the signal. */
async function interrupt({ process: user }: User): Promise<void> {
  const exit = once(user, 'exit');
  process.kill(-Number(user.pid), 'SIGINT');
  expect(await exit).toEqual([0, null]);
}

async function mongodPid(): Promise<number> {
  return Number(await readFile(join(folder, 'mongod.lock'), 'utf8').catch(() => ''));
}

async function mongodGone(pid?: number): Promise<void> {
  const mongod = pid ?? (await mongodPid());
  if (mongod > 0) await until(() => !isAlive(mongod));
}

/** Kills a user; resolves when its mongod is gone. */
async function killed({ process: user }: User): Promise<void> {
  const mongod = await mongodPid();
  user.kill('SIGKILL');
  await mongodGone(mongod);
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

/** Puts a document in and tells how many there are. */
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

async function expectLoopbackOnly(port: number): Promise<void> {
  const others = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, scopeid }) => !internal && !scopeid)
    .map(({ address }) => address);
  expect(await answers('127.0.0.1', port)).toBe(true);
  for (const host of ['127.0.0.2', '::1', ...others]) {
    expect([host, await answers(host, port)]).toEqual([host, false]);
  }
}

/** A mongod that somebody else runs on the data path. */
async function foreignMongod(): Promise<MongodProcess> {
  const program = await findMongod();
  foreign = await MongodProcess.start({ program, dbPath: folder, port: await freePort() });
  return foreign;
}

/** The run's environment, without the settings of who runs the tests. */
const env = () => ({ EMBEDDED_DB_PATH: folder, MONGODB_URI: '', PORT: '0', NODE_ENV: '' });

async function npmStart(): Promise<ChildProcess> {
  const npm = start('npm', ['start'], env());
  let said = '';
  npm.stdout?.setEncoding('utf8').on('data', (text: string) => (said += text));
  npm.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text));
  await until(() => said.includes('Try it'));
  return npm;
}

/** Ends npm; all that it started is gone then, and mongod was not killed: that empties its lock file. */
async function expectEnd(npm: ChildProcess, end: () => void): Promise<void> {
  const { pid } = JSON.parse(await readFile(join(folder, 'embedded.json'), 'utf8'));
  const mongod = await mongodPid();
  expect([isAlive(pid), isAlive(mongod)]).toEqual([true, true]);
  const exit = once(npm, 'exit');
  end();
  await exit;
  expect([isAlive(pid), isAlive(mongod), await mongodPid()]).toEqual([false, false, 0]);
}

async function listKeys(): Promise<string> {
  const command = start('npm', ['run', '-s', 'cli', '--', 'keys', 'list'], env());
  let said = '';
  command.stdout?.setEncoding('utf8').on('data', (text: string) => (said += text));
  expect(await once(command, 'close')).toEqual([0, null]);
  return said;
}

describe('the embedded MongoDB', () => {
  it('of a server is on loopback, shared with commands, and ends with the server', async () => {
    const server = new User('the server');
    const uri = await server.uri;
    await expectLoopbackOnly(Number(new URL(uri).port));
    const mongod = await mongodPid();
    const command = new User('a command');
    expect(await command.uri).toBe(uri);

    await interrupt(command);
    expect(await addOne(uri)).toBe(1);
    await interrupt(server);
    expect(isAlive(mongod)).toBe(false);
  });

  it('of a command is its own: who comes meanwhile waits, and is told for whom', async () => {
    const command = new User('a command');
    expect(await addOne(await command.uri)).toBe(1);
    const server = new User('the server');
    const wait = `Waiting for a command (process ${command.process.pid}) to end`;
    await until(() => server.complaint.includes(wait));

    await interrupt(command);
    expect(await addOne(await server.uri)).toBe(2);
    expect(server.complaint.match(/Waiting/g)).toHaveLength(1);
  });

  it('is opened by all who start at once', async () => {
    const server = new User('the server');
    const others = [new User('the server'), new User('a command')];
    const first = await Promise.race([server, ...others].map(({ uri }) => uri));
    expect(await addOne(first)).toBe(1);
    // Whoever is last waits until a command that was first has ended.
    const command = others[1];
    if (command) await command.uri.then(() => interrupt(command));
    for (const { uri } of [server, ...others]) expect(await uri).toBe(first);
  });

  it('finds its data again, by the same connection string unless another process took its port', async () => {
    const first = new User('the server');
    const uri = await first.uri;
    expect(await addOne(uri)).toBe(1);
    await interrupt(first);

    const second = new User('the server');
    expect(await second.uri).toBe(uri);
    expect(await addOne(uri)).toBe(2);
    await interrupt(second);

    const other = createServer((socket) => socket.destroy()).listen(
      Number(new URL(uri).port),
      '127.0.0.1',
    );
    await once(other, 'listening');
    const moved = await new User('the server').uri;
    expect(moved).not.toBe(uri);
    expect(await addOne(moved)).toBe(3);
    other.close();
  });

  it('ends when its owner is killed, also while it starts, and starts again', async () => {
    const first = new User('the server');
    await until(async () => (await mongodPid()) > 0);
    await killed(first);
    const second = new User('the server');
    expect(await addOne(await second.uri)).toBe(1);
    await killed(second);
    expect(await addOne(await new User('a command').uri)).toBe(2);
  });

  it('says why it can not run', async () => {
    const file = join(folder, 'a file');
    await writeFile(file, '');
    await expect(new User('the server', file).uri).rejects.toThrow(
      `The embedded MongoDB in ${file} can't run: ENOTDIR`,
    );
    // Without /proc it is the root folder that refuses.
    await expect(new User('the server', '/proc/nope').uri).rejects.toThrow("can't run: E");
  });
});

describe('a data path that somebody else uses', () => {
  it('stays as it is, while its mongod runs and later', async () => {
    const mongod = await foreignMongod();
    for (const name of ['the server', 'a command'] as const) {
      await expect(new User(name).uri).rejects.toThrow('another mongod is using this data path');
    }
    expect(isAlive(mongod.pid)).toBe(true);
    expect(await readdir(folder)).not.toContain('embedded.json');

    await mongod.stop();
    await expect(new User('the server').uri).rejects.toThrow('holds the data of another MongoDB');
  });

  it('is left to them when it was ours before', async () => {
    const server = new User('the server');
    await server.uri;
    await interrupt(server);
    const mongod = await foreignMongod();
    await expect(new User('a command', folder, 1_000).uri).rejects.toThrow(
      'another mongod is using this data path',
    );
    expect(isAlive(mongod.pid)).toBe(true);
  });
});

describe('npm start and npm run cli', () => {
  beforeEach(async () => {
    // What `npm test` has built is fresh.
    await writeFile('dist/.built', '');
  });

  it('Ctrl-C ends all that was started', async () => {
    const npm = await npmStart();
    await expectEnd(npm, () => process.kill(-Number(npm.pid), 'SIGINT'));
  });

  it('keys are listed beside the server and alone; SIGTERM to npm ends all that was started', async () => {
    const npm = await npmStart();
    const beside = await listKeys();
    expect(beside).toMatch(/demo/i);
    await expectEnd(npm, () => npm.kill('SIGTERM'));
    expect(await listKeys()).toBe(beside);
    expect(await mongodPid()).toBe(0);
  });

  it('the server goes on when nothing can be written to stdout', async () => {
    if (!existsSync('/dev/full')) return;
    const port = await freePort();
    const full = await open('/dev/full', 'w');
    const server = spawn(process.execPath, ['dist/main.js'], {
      stdio: ['ignore', full.fd, 'pipe'],
      env: { ...process.env, ...env(), HOST: '127.0.0.1', PORT: String(port) },
    });
    processes.push(server);
    // The demo's prices move once all has been said.
    const first = demoMarkets()
      .filter(({ marketMoment }) => marketMoment === 'live')
      .slice(0, 7);
    const prices = new Set(first.map(({ runners }) => String(runners[0]?.price)));
    await until(async () => {
      if (server.exitCode !== null) throw new Error(`ended with ${server.exitCode}`);
      const url = `http://127.0.0.1:${port}/v1/markets/market/provider/nb-1001?marketMoment=live`;
      const answer = await fetch(url, { headers: { 'X-API-Key': DEMO_KEY } }).catch(
        () => undefined,
      );
      if (answer?.status !== 200) return false;
      const { data } = (await answer.json()) as { data: { runners: { price: number }[] }[] };
      return data.some(({ runners }) => !prices.has(String(runners[0]?.price)));
    });
    expect(server.exitCode).toBeNull();
    await full.close();
  });
});
