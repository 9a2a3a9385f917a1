import type { ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../src/embedded-mongod/free-port.js';
import { imageCommand } from '../test/image-command.js';
import { until } from '../test/until.js';
import { cpuSeconds, SERVER_CORE } from './machine.js';
import type { SeededDatabase } from './mongo.js';
import { startNode } from './processes.js';

/** The program of Node 24, on which the image runs, if the bench runs on another. */
export const NODE_24 = process.env['NODE_24'];

/** What is compared, side by side. */
export type Contender =
  | 'service'
  | 'service, Node 24'
  | 'service, cache off'
  | 'Nest as usual'
  | 'bare driver';

export const CONTENDERS: readonly Contender[] = [
  'service',
  ...(NODE_24 ? (['service, Node 24'] as const) : []),
  'service, cache off',
  'Nest as usual',
  'bare driver',
];

export interface RunningServer {
  readonly process: ChildProcess;
  readonly pid: number;
  readonly port: number;
}

const START_TIMEOUT_MS = 30_000;
const REST_TIMEOUT_MS = 300_000;
const REST_SHARE = 0.06;
const CHECK_EVERY_MS = 500;

/** Starts a contender with its defaults, on the core that is kept for it; resolves when it is ready. */
export async function startContender(
  contender: Contender,
  { uri, mongodPid }: SeededDatabase,
): Promise<RunningServer> {
  const server = await startAlone(contender, uri);
  await atRest([server.pid, ...(mongodPid === undefined ? [] : [mongodPid])]);
  return server;
}

async function startAlone(contender: Contender, uri: string): Promise<RunningServer> {
  const port = await freePort();
  if (contender === 'bare driver' || contender === 'Nest as usual') {
    const script = contender === 'bare driver' ? './bare-server.js' : './usual-server.js';
    return started(startNode(SERVER_CORE, script, [uri, String(port)]), port, '/');
  }
  return started(startService(contender, uri, port), port, '/health/ready');
}

function startService(contender: Contender, uri: string, port: number): ChildProcess {
  const settings = {
    NODE_ENV: 'production',
    MONGODB_URI: uri,
    HOST: '127.0.0.1',
    PORT: String(port),
    CACHE_MAX_MB: contender === 'service, cache off' ? '0' : '',
    LOG_LEVEL: 'info',
    LOG_FORMAT: 'json',
    // As the image starts it.
    NODE_OPTIONS: imageCommand()
      .filter((word) => word.startsWith('--'))
      .join(' '),
  };
  const program = contender === 'service, Node 24' ? NODE_24 : undefined;
  return startNode(SERVER_CORE, './service.js', [], settings, program);
}

/** A server that answers at once, whatever it is asked: it shows how much the load client can do. */
export async function startReadyBytes(): Promise<RunningServer> {
  const port = await freePort();
  return started(startNode(SERVER_CORE, './ready-bytes.js', [String(port)]), port, '/');
}

async function started(process: ChildProcess, port: number, probe: string): Promise<RunningServer> {
  await until(() => {
    if (process.exitCode !== null) throw new Error(`The server ended with ${process.exitCode}`);
    return answers(`http://127.0.0.1:${port}${probe}`);
  }, START_TIMEOUT_MS);
  return { process, pid: process.pid ?? 0, port };
}

/**
 * After its start the service reads what was written in the last ten minutes, and mongod looks for it for longer
 * than the service reads: not what is measured.
 */
async function atRest(pids: readonly number[]): Promise<void> {
  const used = () => pids.map(cpuSeconds);
  const checks = REST_TIMEOUT_MS / CHECK_EVERY_MS;
  for (let check = 0; check < checks; check++) {
    const before = used();
    await delay(CHECK_EVERY_MS);
    const share = used().map(
      (seconds, index) => (seconds - (before[index] ?? 0)) / (CHECK_EVERY_MS / 1000),
    );
    if (Math.max(...share) < REST_SHARE) return;
  }
  throw new Error('Server and mongod do not come to rest');
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url);
    await response.arrayBuffer();
    return response.status < 500;
  } catch {
    return false;
  }
}
