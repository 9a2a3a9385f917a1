import { setTimeout as delay } from 'node:timers/promises';
import { generateKey } from '../../src/api-keys/key-form.js';
import { descriptorsOf, memoryOf } from '../../test/chaos/footprint.js';
import { metricsOf } from '../../test/metric.js';
import type { RunningServer } from '../contenders.js';
import { median } from '../statistics.js';

/** What the service holds while it works: in the median of some readings, where nothing else is said. */
interface Holdings {
  /** Resident, in MiB. */
  readonly memoryMb: number;
  /** The lowest reading, which is the one that is closest behind a garbage collection. */
  readonly heapMb: number;
  readonly cacheMb: number;
  readonly descriptors: number;
  /** Connections to MongoDB. */
  readonly poolConnections: number;
  /** The event loop's lag: the p99 of the worst second. Milliseconds, with the 10 ms of its clock. */
  readonly lagMs: number;
}

export interface Watched {
  readonly holdings: Holdings;
  /** Answers to well-formed keys that nobody has issued, by status. */
  readonly unknownKeys: Readonly<Record<string, number>>;
}

const READ_EVERY_MS = 1_000;

/** Below what an address may try, ten a second. */
const UNKNOWN_KEYS_AT_A_READING = 4;

/** Reads once a second what the service holds, and tries keys that it can't know, each only once. */
export async function watch(server: RunningServer, signal: AbortSignal): Promise<Watched> {
  const readings: Holdings[] = [];
  const unknownKeys: Record<string, number> = {};
  do {
    // The clients have connected by then.
    await delay(READ_EVERY_MS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted && readings.length > 0) break;
    readings.push(await read(server));
    for (let index = 0; index < UNKNOWN_KEYS_AT_A_READING; index++) {
      const status = await askWithUnknownKey(server);
      unknownKeys[status] = (unknownKeys[status] ?? 0) + 1;
    }
  } while (!signal.aborted);
  return { holdings: summary(readings), unknownKeys };
}

async function read(server: RunningServer): Promise<Holdings> {
  const metric = await metricsOf(server);
  return {
    memoryMb: memoryOf(server.pid),
    heapMb: metric('nodejs_heap_size_used_bytes') / 2 ** 20,
    cacheMb: metric('markets_cache_bytes') / 2 ** 20,
    descriptors: await descriptorsOf(server.pid),
    poolConnections: metric('mongodb_pool_connections'),
    lagMs: metric('nodejs_eventloop_lag_p99_seconds') * 1_000,
  };
}

async function askWithUnknownKey({ port }: RunningServer): Promise<number> {
  const url = `http://127.0.0.1:${port}/v1/markets/market/provider/ev-0000000`;
  const answer = await fetch(url, { headers: { 'X-API-Key': generateKey() } });
  await answer.arrayBuffer();
  return answer.status;
}

function summary(readings: readonly Holdings[]): Holdings {
  const all = (figure: keyof Holdings) => readings.map((reading) => reading[figure]);
  return {
    memoryMb: median(all('memoryMb')),
    heapMb: Math.min(...all('heapMb')),
    cacheMb: median(all('cacheMb')),
    descriptors: median(all('descriptors')),
    poolConnections: median(all('poolConnections')),
    lagMs: Math.max(...all('lagMs')),
  };
}
