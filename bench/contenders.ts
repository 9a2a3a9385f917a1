import type { ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../src/embedded-mongod/free-port.js';
import { SERVER_CORE } from './machine.js';
import { startNode } from './processes.js';

/** What is compared, side by side. */
export const CONTENDERS = ['service', 'service, cache off', 'bare driver'] as const;
export type Contender = (typeof CONTENDERS)[number];

export interface RunningServer {
  readonly process: ChildProcess;
  readonly pid: number;
  readonly port: number;
}

const START_TIMEOUT_MS = 30_000;

/** Starts a contender with its defaults, on the core that is kept for it; resolves when it is ready. */
export async function startContender(contender: Contender, uri: string): Promise<RunningServer> {
  const port = await freePort();
  return contender === 'bare driver'
    ? started(startNode(SERVER_CORE, './bare-server.js', [uri, String(port)]), port, '/')
    : started(startService(uri, port, contender === 'service'), port, '/health/ready');
}

function startService(uri: string, port: number, withCache: boolean): ChildProcess {
  return startNode(SERVER_CORE, './service.js', [], {
    NODE_ENV: 'production',
    MONGODB_URI: uri,
    HOST: '127.0.0.1',
    PORT: String(port),
    CACHE_MAX_MB: withCache ? '' : '0',
    LOG_LEVEL: 'info',
    LOG_FORMAT: 'json',
  });
}

/** A server that answers at once, whatever it is asked: it shows how much the load client can do. */
export async function startReadyBytes(): Promise<RunningServer> {
  const port = await freePort();
  return started(startNode(SERVER_CORE, './ready-bytes.js', [String(port)]), port, '/');
}

async function started(process: ChildProcess, port: number, probe: string): Promise<RunningServer> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  while ((await statusOf(`http://127.0.0.1:${port}${probe}`)) !== 200) {
    if (process.exitCode !== null) throw new Error(`The server ended with ${process.exitCode}`);
    if (performance.now() > deadline) throw new Error('The server does not get ready');
    await delay(20);
  }
  return { process, pid: process.pid ?? 0, port };
}

async function statusOf(url: string): Promise<number> {
  try {
    const response = await fetch(url);
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 0;
  }
}
