import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../../test/until.js';
import { MongodProcess } from './mongod-process.js';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'markets-odds-mongod-'));
});

afterEach(async () => {
  jest.useRealTimers();
  await rm(folder, { recursive: true });
});

/** Takes connections, by its own words, until it is ended. */
async function startIdle(said = 'Waiting for connections'): Promise<MongodProcess> {
  const program = join(folder, 'mongod');
  const text = `#!/bin/sh\necho '{"msg":"${said}"}'\nexec sleep 60\n`;
  await writeFile(program, text, { mode: 0o755 });
  return MongodProcess.start({ program, dbPath: folder, port: 1 });
}

it('is given up when it does not come up', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
  const starting = startIdle('Starting');
  await until(() => jest.getTimerCount() > 0);
  jest.advanceTimersByTime(45_000);
  await expect(starting).rejects.toThrow('mongod did not start: not up within 45 s');
});

it('has no timer left that would end it once it is up, nor one that would keep us when it is gone', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
  const mongod = await startIdle();
  expect(jest.getTimerCount()).toBe(0);
  await mongod.stop();
  expect(jest.getTimerCount()).toBe(0);
});

it('is killed when it does not end by itself', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
  const mongod = await startIdle();
  process.kill(mongod.pid, 'SIGSTOP');
  const stopped = mongod.stop();
  await jest.advanceTimersByTimeAsync(5_000);
  await stopped;
  expect(() => process.kill(mongod.pid, 0)).toThrow('ESRCH');
});

it('is not left behind when its guard is killed', async () => {
  const mongod = await startIdle();
  const guard: ChildProcess = Reflect.get(mongod, 'guard');
  guard.kill('SIGKILL');
  // Its output is open for as long as it runs.
  expect(await mongod.gone).toEqual([null, 'SIGKILL']);
});
