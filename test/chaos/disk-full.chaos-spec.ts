import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chmod, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findMongod } from '../../src/embedded-mongod/find-mongod.js';
import { aRecord, ndjson } from '../imports.js';
import { TestMongod } from '../mongo.js';
import { onMember, setFailCommand } from '../mongo-admin.js';
import { runCli, type CliResult } from '../run-cli.js';
import { startProcess, type ServerProcess } from '../services.js';
import { measurementsOf } from './measurements.js';
import { ask, isServed, OpenLoop, tally } from './open-loop.js';
import { lookUp } from './paths.js';
import { until } from '../until.js';

const rows = measurementsOf('disk full');

/** MongoDB's OutOfDiskSpace. */
const OUT_OF_DISK_SPACE = 14_031;
const MARKETS = 2_000;

describe('disk full', () => {
  let folder: string;
  let mongod: TestMongod;
  let service: ServerProcess;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'markets-odds-disk-'));
  });

  afterEach(async () => {
    await service.stop();
    await mongod.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('MongoDB refuses to write: an import says so, reads go on', async () => {
    mongod = await TestMongod.start();
    service = await startProcess(mongod.uri);
    await until(async () =>
      isServed(await ask({ port: service.port, key: service.key }, lookUp())),
    );
    const errorCode = OUT_OF_DISK_SPACE;
    const data = { failCommands: ['insert', 'update', 'bulkWrite'], errorCode };
    await setFailCommand(mongod, 'alwaysOn', data, '');
    const { result, counts } = await importUnderLoad();
    rows.exactly(1, { seen: 'import into a full MongoDB: exit code', measured: result.code ?? -1 });
    rows.exactly(1, { seen: 'lines it says', measured: linesOf(result).length });
    rows.exactly('200', { seen: 'look-ups meanwhile', measured: Object.keys(counts).join(', ') });
  });

  it('MongoDB ends for want of space: an import says so, look-ups are told', async () => {
    mongod = await TestMongod.start({ program: await programOnSmallDisk() });
    service = await startProcess(mongod.uri);
    // Makes the indexes.
    expect((await importUnderLoad()).result.code).toBe(0);
    await fillDisk();
    // Until MongoDB's next checkpoint, a minute later at most, all goes on in memory and journal.
    await importUnderLoad();
    const { port, key } = service;
    const load = new OpenLoop({ port, key, rate: 50, path: lookUp });
    const told = load.next(({ status }) => status === 503);
    await Promise.allSettled([
      onMember(mongod, 0, (client) => client.db('admin').command({ fsync: 1 })),
    ]);
    const { code } = await told;
    await load.stop();
    rows.exactly('database_unavailable', {
      seen: 'look-ups after mongod ended itself',
      measured: code ?? 'none',
    });
    const { result } = await importUnderLoad();
    rows.exactly(1, { seen: 'import then: exit code', measured: result.code ?? -1 });
    rows.exactly(1, { seen: 'import then: lines it says', measured: linesOf(result).length });
  });

  async function importUnderLoad() {
    const file = join(folder, 'markets.ndjson');
    await writeFile(file, ndjson(...Array.from({ length: MARKETS }, () => aRecord())));
    const { port, key } = service;
    const load = new OpenLoop({ port, key, rate: 50, path: lookUp });
    const result = await runCli(['markets', 'import', file], {
      env: { MONGODB_URI: mongod.uri },
    });
    await load.next(() => true);
    return { result, counts: tally(await load.stop()) };
  }

  /** mongod with a data path of its own that nobody else sees, some hundred MB large. */
  async function programOnSmallDisk(): Promise<string> {
    const program = join(folder, 'mongod-on-small-disk');
    const mount = `mount -t tmpfs -o size=400m tmpfs "\${1#--dbpath=}"; exec '${await findMongod()}' "$@"`;
    await writeFile(
      program,
      `#!/bin/sh\nexec unshare -rm sh -c '${mount.replaceAll("'", `'\\''`)}' mongod "$@"\n`,
    );
    await chmod(program, 0o755);
    return program;
  }

  /** Through the eyes of mongod. */
  async function fillDisk(): Promise<void> {
    const path = `/proc/${mongod.pids[0]}/root${mongod.dbPaths[0]}/filler`;
    const file = await open(path, 'w');
    const chunk = Buffer.alloc(65_536);
    const fill = async (): Promise<never> => {
      for (;;) await file.write(chunk);
    };
    await expect(fill()).rejects.toMatchObject({ code: 'ENOSPC' });
    await file.close();
  }
});

function linesOf({ stderr }: CliResult): string[] {
  return stderr.split('\n').filter((line) => line.startsWith('error:'));
}
