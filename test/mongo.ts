import { MongoClient } from 'mongodb';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { findMongod } from '../src/embedded-mongod/find-mongod.js';
import { freePort } from '../src/embedded-mongod/free-port.js';
import { MongodProcess, type MongodOptions } from '../src/embedded-mongod/mongod-process.js';
import { formReplicaSet } from '../src/embedded-mongod/replica-set.js';

/** A database of its own for a test file, on the MongoDB that the whole run shares. */
export function testDatabaseUri(): string {
  const base = process.env['TEST_MONGODB_URI'];
  if (!base) throw new Error('TEST_MONGODB_URI is not set: run the tests by npm run jest');
  return withDatabase(base);
}

/** The same connection string with another database in its path. */
export function withDatabase(
  base: string,
  name = `test-${randomBytes(6).toString('hex')}`,
): string {
  const [, hosts = '', options = ''] =
    /^(mongodb(?:\+srv)?:\/\/[^/?]+)(?:\/[^?]*)?(\?.*)?$/.exec(base) ?? [];
  return `${hosts}/${name}${options}`;
}

/** In ms, where MongoDB's defaults are 10,000 and 2,000. */
const QUICK_ELECTIONS = { electionTimeoutMillis: 1_000, heartbeatIntervalMillis: 200 };

export interface TestMongodOptions {
  /** Members of the replica set; 0: a standalone server. Default 1. */
  readonly members?: number;
  /** One member more, which has a vote and no data; the default write concern is then `w: 1`, as by MongoDB's own rule. */
  readonly arbiter?: boolean;
  /** Arguments for each mongod, for example `['--setParameter=ttlMonitorEnabled=false']`. */
  readonly args?: readonly string[];
  /** What to run in the place of mongod. */
  readonly program?: string;
}

/**
 * MongoDB processes of a test's own, to be stopped, killed and started again at will. They end with the
 * process that runs the test, however it ends.
 */
export class TestMongod {
  private constructor(
    /** A random database in this MongoDB. */
    readonly uri: string,
    private readonly folder: string,
    private readonly options: readonly MongodOptions[],
    private readonly processes: MongodProcess[],
  ) {}

  static async start(wishes: TestMongodOptions = {}): Promise<TestMongod> {
    const { members = 1, arbiter = false, args = [], program = await findMongod() } = wishes;
    const folder = await mkdtemp(join(tmpdir(), 'markets-odds-test-'));
    const replicaSet = members > 0 ? 'test' : undefined;
    const options: MongodOptions[] = [];
    for (let index = 0; index < Math.max(1, members) + Number(arbiter); index += 1) {
      const dbPath = await mkdtemp(join(folder, 'member-'));
      // Test commands make failpoints usable (`configureFailPoint`).
      const allArgs = ['--setParameter=enableTestCommands=1', ...args];
      options.push({ program, dbPath, port: await freePort(), replicaSet, args: allArgs });
    }
    const processes = await Promise.all(options.map((each) => MongodProcess.start(each)));
    const ports = options.map(({ port }) => port);
    const uri = replicaSet
      ? await formReplicaSet(replicaSet, ports.slice(0, members), QUICK_ELECTIONS)
      : `mongodb://127.0.0.1:${ports[0]}/`;
    if (arbiter) await addArbiter(uri, `127.0.0.1:${ports.at(-1)}`);
    return new TestMongod(withDatabase(uri), folder, options, processes);
  }

  /** Port of each member, in the order of the replica set's configuration. */
  get ports(): number[] {
    return this.options.map(({ port }) => port);
  }

  get dbPaths(): string[] {
    return this.options.map(({ dbPath }) => dbPath);
  }

  get pids(): number[] {
    return this.processes.map(({ pid }) => pid);
  }

  /** A connection string for one member alone, for commands such as `replSetStepDown`. */
  memberUri(index = 0): string {
    return `mongodb://127.0.0.1:${this.options[index]?.port}/?directConnection=true`;
  }

  /** Sends a signal; resolves when the process is gone, or stands still after `SIGSTOP`. */
  async kill(signal: NodeJS.Signals, index = 0): Promise<void> {
    const member = this.member(index);
    process.kill(member.pid, signal);
    if (signal === 'SIGSTOP') await standsStill(member.pid);
    else if (signal !== 'SIGCONT') await member.gone;
  }

  /** Starts a member that was killed, on its old port and data; resolves when it takes connections. */
  async restart(index = 0): Promise<void> {
    await this.member(index).stop();
    const options = this.options[index];
    if (options) this.processes[index] = await MongodProcess.start(options);
  }

  /** Ends all members, paused ones too, and removes their data. */
  async stop(): Promise<void> {
    await Promise.all(this.processes.map((member) => member.kill()));
    await rm(this.folder, { recursive: true, force: true });
  }

  private member(index: number): MongodProcess {
    const member = this.processes[index];
    if (!member) throw new Error(`No member ${index}`);
    return member;
  }
}

async function addArbiter(uri: string, host: string): Promise<void> {
  const client = new MongoClient(uri);
  try {
    const admin = client.db('admin');
    await admin.command({ setDefaultRWConcern: 1, defaultWriteConcern: { w: 1 } });
    const { config } = await admin.command({ replSetGetConfig: 1 });
    const members = [...config.members, { _id: config.members.length, host, arbiterOnly: true }];
    const version = config.version + 1;
    await admin.command({ replSetReconfig: { ...config, members, version } });
  } finally {
    await client.close();
  }
}

/** A signal to stop reaches the threads of a process one after the other: some answer a little longer. */
async function standsStill(pid: number): Promise<void> {
  const tasks = `/proc/${pid}/task`;
  for (;;) {
    const threads = await readdir(tasks).catch(() => []);
    const states = await Promise.all(
      threads.map(async (thread) => {
        const stat = await readFile(join(tasks, thread, 'stat'), 'latin1').catch(() => ') T');
        return stat.slice(stat.lastIndexOf(')') + 2)[0];
      }),
    );
    if (states.every((state) => state === 'T')) return;
    await setImmediate();
  }
}
