import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from '../src/embedded-mongod/free-port.js';

/** Whether there is a Redis to test with. */
export const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

/** A Redis of a test's own, with a password, on loopback. */
export interface TestRedis {
  readonly url: string;
  readonly password: string;
  /** Lets it hang: connections stay, answers don't come. */
  freeze(): void;
  thaw(): void;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Stops it and takes its folder away. */
  close(): Promise<void>;
}

export async function createTestRedis(): Promise<TestRedis> {
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'markets-odds-redis-'));
  const password = 'redis-secret-7Q';
  let server: ChildProcess | undefined;

  async function start(): Promise<void> {
    const options = { port, bind: '127.0.0.1', dir: folder, save: '', requirepass: password };
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
    server = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    if (!server.stdout) throw new Error('redis-server has no output');
    for await (const line of createInterface(server.stdout)) {
      if (line.includes('Ready to accept connections')) break;
    }
    server.stdout.resume();
  }

  async function stop(): Promise<void> {
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, 'exit');
    server.kill('SIGCONT');
    server.kill('SIGTERM');
    await ended;
  }

  await start();
  return {
    url: `redis://:${password}@127.0.0.1:${port}`,
    password,
    freeze: () => void server?.kill('SIGSTOP'),
    thaw: () => void server?.kill('SIGCONT'),
    start,
    stop,
    async close() {
      await stop();
      await rm(folder, { recursive: true });
    },
  };
}
