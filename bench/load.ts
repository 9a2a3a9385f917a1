import type { ChildProcess } from 'node:child_process';
import { cpuSeconds, OTHER_CORE } from './machine.js';
import type { Load, LoadResult } from './load-client.js';
import type { RunningServer } from './contenders.js';
import { order } from './orders.js';
import { end, startNode } from './processes.js';
import type { SeededDatabase } from './mongo.js';

/** What a load did to a server, and what the server used for it. */
export interface Measurement extends LoadResult {
  readonly perSecond: number;
  /** Answers other than 200 and 304, of all. */
  readonly failedShare: number;
  /** Processor time of the server, and of a mongod of ours, for each request, in µs. */
  readonly serverMicros: number;
  readonly mongodMicros: number;
}

/** How a load differs from the usual one. */
export type LoadOptions = Pick<Load, 'workload' | 'conditional' | 'seconds' | 'seed'> &
  Partial<Pick<Load, 'atLeast' | 'form' | 'rate' | 'connections'>>;

const CONNECTIONS = 16;
/** An open loop never lacks a connection before the server lacks time. */
const CONNECTIONS_AT_A_RATE = 256;

/** Puts loads on servers, by a process of its own. */
export class LoadClient {
  private readonly child: ChildProcess = startNode(OTHER_CORE, './load-client.js');

  constructor(private readonly database: SeededDatabase) {}

  async run(server: RunningServer, options: LoadOptions): Promise<Measurement> {
    const { markets, key } = this.database;
    const connections = options.rate === undefined ? CONNECTIONS : CONNECTIONS_AT_A_RATE;
    const load: Load = { port: server.port, key, markets, connections, ...options };
    const before = this.cpu(server);
    const result = await order<LoadResult>(this.child, load);
    const after = this.cpu(server);
    const failures = failuresOf(result);
    // At a rate of its own, a load may be more than a server can take; that is then measured, too.
    if (failures > 0 && options.rate === undefined) {
      throw new Error(`Answers with status ${JSON.stringify(result.statuses)}`);
    }
    return {
      ...result,
      perSecond: result.requests / result.seconds,
      failedShare: failures / result.requests,
      serverMicros: ((after.server - before.server) / result.requests) * 1e6,
      mongodMicros: ((after.mongod - before.mongod) / result.requests) * 1e6,
    };
  }

  async close(): Promise<void> {
    await end(this.child);
  }

  private cpu(server: RunningServer) {
    const { mongodPid } = this.database;
    return {
      server: cpuSeconds(server.pid),
      mongod: mongodPid === undefined ? NaN : cpuSeconds(mongodPid),
    };
  }
}

/** Answers that carry no odds are fast, but no good. */
function failuresOf({ statuses }: LoadResult): number {
  const bad = Object.entries(statuses).filter(([status]) => status !== '200' && status !== '304');
  return bad.reduce((sum, [, count]) => sum + count, 0);
}
