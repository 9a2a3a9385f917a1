import type { ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../src/database/embedded/free-port.js';
import { SERVER_CORE } from './machine.js';
import { end, startNode } from './processes.js';

export const CONTENDERS = ['service', 'service, cache off', 'bare driver'] as const;
export type Contender = (typeof CONTENDERS)[number];

/** A server under test. */
export interface RunningServer {
  readonly process: ChildProcess;
  readonly pid: number;
  readonly port: number;
}

const START_TIMEOUT_MS = 30_000;

export async function startContender(
  contender: Contender,
  { uri, cwd, nodeArgs = [] }: { readonly uri: string; readonly cwd: string; readonly nodeArgs?: readonly string[] },
): Promise<RunningServer> {
  const port = await freePort();
  const child =
    contender === 'bare driver'
      ? startNode(SERVER_CORE, './bare-server.js', [uri, String(port)], {}, { cwd, nodeArgs })
      : startNode(
          SERVER_CORE,
          '../src/main.js',
          [],
          {
            MONGODB_URI: uri,
            HOST: '127.0.0.1',
            PORT: String(port),
            CACHE_MAX_MB: contender === 'service' ? '' : '0',
            LOG_LEVEL: 'info',
            LOG_FORMAT: 'json',
          },
          { cwd, nodeArgs },
        );
  await answers(port, contender === 'bare driver' ? '/' : '/health/ready', child);
  return { process: child, pid: child.pid ?? 0, port };
}

async function answers(port: number, path: string, child: ChildProcess): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    const status = await fetch(`http://127.0.0.1:${port}${path}`).then(
      async (response) => {
        await response.arrayBuffer();
        return response.status;
      },
      () => 0,
    );
    if (status === 200) return;
    if (child.exitCode !== null) throw new Error(`The server ended with ${child.exitCode}`);
    if (performance.now() > deadline) throw new Error(`The server on port ${port} is not ready`);
    await delay(20);
  }
}

export async function stopContender(server: RunningServer): Promise<void> {
  await end(server.process);
}
