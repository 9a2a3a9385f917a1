import { afterEach, beforeEach, expect, jest } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { MongoClient } from 'mongodb';
import { DEMO_KEY } from '../src/api-keys/demo-key.js';
import { demoMarkets } from '../src/demo/demo-markets.js';
import { findMongod } from '../src/embedded-mongod/find-mongod.js';
import { freePort } from '../src/embedded-mongod/free-port.js';
import { MongodProcess } from '../src/embedded-mongod/mongod-process.js';
import { API_KEY_HEADER } from '../src/http/credentials.js';
import { until } from './until.js';

// What runs is the build, in processes of their own: `npm test` builds before.
const built = new URL('../dist/embedded-mongod/embedded.js', import.meta.url).href;

/** Opens the database, prints its connection string, and closes it on SIGINT. */
const userProgram = `
  import { openEmbedded } from ${JSON.stringify(built)};
  const [, path, name, shared, silentMongodMs] = process.argv;
  const options = { path, name, shared: shared === 'true', silentMongodMs: Number(silentMongodMs) };
  const embedded = await openEmbedded(options, (line) => console.error(line));
  // Stays; the end of the input is the end of the tests, for whatever reason.
  process.stdin.resume().once('end', () => process.exit());
  process.once('SIGINT', async () => {
    await embedded.close();
    process.stdin.destroy();
  });
  console.log(embedded.uri);`;

/** The data path of a test. */
export let folder: string;
/** What a test has started. */
export let processes: ChildProcess[];
let foreign: MongodProcess | undefined;

/** Gives each test of a file a data path of its own, and ends what it started. */
export function ownDataPaths(): void {
  // Many processes start and end here; a busy machine takes its time.
  jest.setTimeout(60_000);

  beforeEach(async () => {
    processes = [];
    foreign = undefined;
    folder = await mkdtemp(join(tmpdir(), 'markets-odds embedded '));
  });

  afterEach(async () => {
    for (const each of processes) {
      if (each.exitCode === null && !each.signalCode) killGroup(each);
    }
    await foreign?.kill();
    await mongodGone();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });
}

export class User {
  readonly uri: Promise<string>;
  complaint = '';

  constructor(
    readonly name: 'the server' | 'a command',
    readonly path = folder,
    // On a busy machine a mongod of ours takes long to start.
    silentMongodMs = 60_000,
  ) {
    const shared = String(name === 'the server');
    const script = ['--input-type=module', '-e', userProgram];
    const args = [...script, path, name, shared, String(silentMongodMs)];
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

export function start(
  program: string,
  args: string[],
  env: NodeJS.ProcessEnv = {},
  cwd?: string,
): ChildProcess {
  const child = spawn(program, args, {
    cwd,
    // A process group of its own, as a terminal gives to a command.
    detached: true,
    stdio: 'pipe',
    env: { ...process.env, NODE_OPTIONS: '', ...env },
  });
  processes.push(child);
  return child;
}

/** Kills a process: with all that it has started, if it leads a process group. */
function killGroup(leader: ChildProcess): void {
  try {
    process.kill(-Number(leader.pid), 'SIGKILL');
  } catch {
    leader.kill('SIGKILL');
  }
}

/** As Ctrl-C in a terminal: the whole process group gets the signal. */
export async function interrupt({ process: user }: User): Promise<void> {
  const exit = once(user, 'exit');
  process.kill(-Number(user.pid), 'SIGINT');
  expect(await exit).toEqual([0, null]);
}

export async function mongodPid(): Promise<number> {
  return Number(await readFile(join(folder, 'mongod.lock'), 'utf8').catch(() => ''));
}

async function mongodGone(pid?: number): Promise<void> {
  const mongod = pid ?? (await mongodPid());
  if (mongod > 0) await until(() => !isAlive(mongod));
}

/** Kills a user; resolves when its mongod is gone. */
export async function killed({ process: user }: User): Promise<void> {
  const mongod = await mongodPid();
  user.kill('SIGKILL');
  await mongodGone(mongod);
}

/** Whether a process runs; one that is dead and not yet reaped does not. */
export function isAlive(pid: number): boolean {
  try {
    // The process may end between the two calls, and while the file is read.
    return existsSync('/proc/self')
      ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== ''
      : process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Puts a document in and tells how many there are. */
export async function addOne(uri: string): Promise<number> {
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: 15_000 });
  try {
    const documents = client.db('test').collection('documents');
    await documents.insertOne({});
    return await documents.countDocuments();
  } finally {
    await client.close();
  }
}

/** A mongod that somebody else runs on the data path. */
export async function foreignMongod(): Promise<MongodProcess> {
  const program = await findMongod();
  foreign = await MongodProcess.start({ program, dbPath: folder, port: await freePort() });
  return foreign;
}

/** The run's environment, without the settings of who runs the tests. */
export const env = () => ({ EMBEDDED_DB_PATH: folder, MONGODB_URI: '', PORT: '0', NODE_ENV: '' });

export async function npmStart(): Promise<{ npm: ChildProcess; demo: () => Promise<unknown[]> }> {
  const npm = start('npm', ['start'], { ...env(), DEMO_FEED: 'false' });
  let said = '';
  npm.stdout?.setEncoding('utf8').on('data', (text: string) => (said += text));
  npm.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text));
  const port = () => /Listening on \S+:(\d+)/.exec(said)?.[1];
  await until(() => port() !== undefined);
  const fixtures = new Set(demoMarkets().map(({ fixtureId }) => `fixtureId=${fixtureId}`));
  const changes = `http://127.0.0.1:${port()}/v1/markets/changes?${[...fixtures].join('&')}`;
  const demo = async () => {
    const answer = await fetch(changes, { headers: { [API_KEY_HEADER]: DEMO_KEY } });
    return ((await answer.json()) as { data: unknown[] }).data;
  };
  // It is there from the first moment on.
  expect(await demo()).toHaveLength(fixtures.size);
  await until(() => said.includes('Try it'));
  return { npm, demo };
}

/** Ends npm; all that it started is gone then, and mongod was not killed: that empties its lock file. */
export async function expectEnd(npm: ChildProcess, end: () => void): Promise<void> {
  const { pid } = JSON.parse(await readFile(join(folder, 'embedded.json'), 'utf8'));
  const mongod = await mongodPid();
  expect([isAlive(pid), isAlive(mongod)]).toEqual([true, true]);
  const exit = once(npm, 'exit');
  end();
  expect(await exit).toEqual([0, null]);
  expect([isAlive(pid), isAlive(mongod), await mongodPid()]).toEqual([false, false, 0]);
}

export async function listKeys(): Promise<string> {
  const command = start('npm', ['run', '-s', 'cli', '--', 'keys', 'list'], env());
  let said = '';
  command.stdout?.setEncoding('utf8').on('data', (text: string) => (said += text));
  expect(await once(command, 'close')).toEqual([0, null]);
  return said;
}
