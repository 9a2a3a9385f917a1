import { beforeEach, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { markBuilt } from '../mark-built.js';
import { DEMO_KEY } from '../../src/api-keys/demo-key.js';
import { demoMarkets } from '../../src/demo/demo-markets.js';
import { openEmbedded } from '../../src/embedded-mongod/embedded.js';
import { freePort } from '../../src/embedded-mongod/free-port.js';
import {
  addOne,
  env,
  expectEnd,
  folder,
  foreignMongod,
  interrupt,
  isAlive,
  killed,
  mongodPid,
  processes,
  npmStart,
  ownDataPaths,
  start,
  User,
} from '../embedded-processes.js';
import { runCli } from '../run-cli.js';
import { startServer } from '../server-process.js';
import { until } from '../until.js';

ownDataPaths();

describe('the embedded MongoDB', () => {
  it('of a command is its own: who comes meanwhile waits, and is told for whom', async () => {
    const command = new User('a command');
    expect(await addOne(await command.uri)).toBe(1);
    const server = new User('the server');
    const wait = `Waiting for a command (process ${command.process.pid}) to end`;
    await until(() => server.complaint.includes(wait));
    const stop = new AbortController();
    const options = { path: folder, name: 'another', shared: false, signal: stop.signal };
    const another = openEmbedded(options, () => stop.abort(new Error('stopped')));
    await expect(another).rejects.toThrow(/^stopped$/);

    await interrupt(command);
    expect(await addOne(await server.uri)).toBe(2);
    expect(server.complaint.match(/Waiting/g)).toHaveLength(1);
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
});

describe('a data path that somebody else uses', () => {
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

/** Starts the server, sends a signal to its mongod before the demo is there; resolves with what it said when it ends. */
async function startWithout(mongod: NodeJS.Signals, then?: NodeJS.Signals) {
  const server = start(process.execPath, ['dist/main.js'], env());
  let said = '';
  for (const output of [server.stdout, server.stderr])
    output?.setEncoding('utf8').on('data', (text: string) => (said += text));
  const ended = once(server, 'close');
  await until(() => said.includes('Nest application successfully started'));
  process.kill(await mongodPid(), mongod);
  if (then) server.kill(then);
  const [code] = await ended;
  return { code, said };
}

it('the server ends, and says why, when its mongod ends before the demo is there', async () => {
  const { code, said } = await startWithout('SIGKILL');
  expect(code).toBe(1);
  expect(said).not.toContain('Listening');
  expect(said).toMatch(/^Could not start: mongod has ended .+: is the disk full\?$/m);
});

it('the server ends well when it is told to, though its mongod hangs before the demo is there', async () => {
  const { code, said } = await startWithout('SIGSTOP', 'SIGTERM');
  expect(code).toBe(0);
  expect(said).not.toMatch(/Listening|Could not start/);
});

it('the server ends within 15 s though its mongod hangs and a client does not read', async () => {
  const server = await startServer({ EMBEDDED_DB_PATH: folder });
  const unread = connect(server.port, '127.0.0.1').on('error', () => undefined);
  try {
    await until(() => server.stdout.some((line) => line.includes('Try it')));
    // More than the buffers of both ends hold.
    unread.write('GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(20));
    await once(unread, 'readable');
    process.kill(await mongodPid(), 'SIGSTOP');
    const began = performance.now();
    server.kill('SIGTERM');
    expect(await server.exited).toBe(0);
    expect(performance.now() - began).toBeLessThan(15_000);
  } finally {
    unread.destroy();
    await server.stop();
  }
});

it('the server ends its mongod well though a client does not read', async () => {
  const server = await startServer({ EMBEDDED_DB_PATH: folder });
  const unread = connect(server.port, '127.0.0.1').on('error', () => undefined);
  try {
    // More than the buffers of both ends hold.
    unread.write('GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(20));
    await once(unread, 'readable');
    server.kill('SIGTERM');
    expect(await server.exited).toBe(0);
    // A mongod that is killed can't empty the file.
    expect(await readFile(join(folder, 'mongod.lock'), 'utf8')).toBe('');
  } finally {
    unread.destroy();
    await server.stop();
  }
});

describe('npm start', () => {
  beforeEach(async () => {
    await markBuilt();
  });

  it('Ctrl-C ends all that was started', async () => {
    const { npm } = await npmStart();
    await expectEnd(npm, () => process.kill(-Number(npm.pid), 'SIGINT'));
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

describe('a command', () => {
  it('uses the embedded MongoDB when no other is named, and lets go of it', async () => {
    const options = { env: { EMBEDDED_DB_PATH: folder } };
    const made = await runCli(['keys', 'create', '--name', 'Punter', '--json'], options);
    expect(made.code).toBe(0);
    const { id } = JSON.parse(made.stdout);
    const listed = await runCli(['keys', 'list', '--json'], options);
    expect(JSON.parse(listed.stdout)).toEqual([expect.objectContaining({ id })]);
  });
});
