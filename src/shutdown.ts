import { Logger } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Server } from 'node:http';
import { Server as TcpServer } from 'node:net';
import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import type { HttpServerAdapter } from './http/http-server.js';
import { handleSignals } from './early-signals.js';
import { StreamHub } from './markets/watch/stream-hub.js';
import { ReadinessService } from './health/readiness.service.js';

/** How long the listener stays open after the signal, so that proxies can look elsewhere. Milliseconds. */
const STILL_LISTENING_MS = 2_000;

/** How long waiting connections are accepted at most: some clients never stop connecting. Milliseconds. */
const ACCEPTS_MS = 500;

/** Requests without an answer by then are cut off, well before an orchestrator kills. Milliseconds. */
const LAST_ANSWER_MS = 10_000;

/** The process exits by then, whatever hangs: within 15 s in all. An embedded mongod has a journal and is killed. */
const LAST_MS = 13_500;

/** How long the exit waits for DNS to resolve a host name. Milliseconds. */
const NAME_SERVER_MAX_MS = 1_000;

/**
 * On SIGTERM or SIGINT: says so to probes and clients, finishes what is under way, and exits 0.
 * A second signal exits at once.
 * @returns a signal that is aborted when the shutdown begins
 */
export function shutDownOnSignal(
  app: NestExpressApplication,
  cleanUp: () => Promise<unknown>,
): AbortSignal {
  const begun = new AbortController();
  handleSignals((signal) => {
    if (begun.signal.aborted) {
      void exit(1);
      return;
    }
    begun.abort();
    new Logger('Shutdown').log(`${signal}: finishing what is under way`);
    void Promise.race([shutDown(app).then(cleanUp), delay(LAST_MS)]).then(() => exit(0));
  });
  return begun.signal;
}

/** Node's exit waits for each host name that is being resolved, for minutes where the name server is silent. */
export async function exit(code: number): Promise<void> {
  const until = performance.now() + NAME_SERVER_MAX_MS;
  while (process.getActiveResourcesInfo().includes('GetAddrInfoReqWrap')) {
    if (performance.now() > until) process.kill(process.pid, 'SIGKILL');
    await delay(10);
  }
  process.exit(code);
}

async function shutDown(app: NestExpressApplication): Promise<void> {
  const server: Server = app.getHttpServer();
  app.get(ReadinessService).shutDown();
  void app.get(StreamHub).drain();
  (app.getHttpAdapter() as unknown as HttpServerAdapter).keepsConnections = false;
  await delay(STILL_LISTENING_MS);
  // The first time that Node closes a server takes three times as long, and resets connections that come meanwhile.
  new TcpServer().close();
  await acceptPending();
  // `server.close` would first close all idle connections, and reset those that come meanwhile.
  const closed = new Promise((resolve) => TcpServer.prototype.close.call(server, resolve));
  server.closeIdleConnections();
  await Promise.race([closed, delay(LAST_ANSWER_MS)]);
  server.closeAllConnections();
  await app.close();
}

/**
 * Accepts the connections and reads the requests that wait in the system, since a close would reset them. None wait any
 * more when a turn of the event loop has no event.
 */
async function acceptPending(): Promise<void> {
  const until = performance.now() + ACCEPTS_MS;
  let events: number;
  do {
    ({ events } = performance.nodeTiming.uvMetricsInfo);
    await setImmediate();
  } while (performance.nodeTiming.uvMetricsInfo.events > events && performance.now() < until);
}
