import type { RunningServer } from '../contenders.js';
import { LoadClient, type Measurement } from '../load.js';
import type { SeededDatabase } from '../mongo.js';
import { sum } from '../statistics.js';

/** The loads that run side by side, with the share of the requests of each. */
const MIX = [
  { workload: 'hot', conditional: false, share: 0.75 },
  { workload: 'hot', conditional: true, share: 0.2 },
  { workload: 'cold', conditional: false, share: 0.05 },
] as const;

/** Many more than are busy at half load; each has its turn before the server takes it for a silent one. */
export const CONNECTIONS = 16;

export interface MixedResult {
  /** Answered, and those that should have been. */
  readonly requests: number;
  readonly due: number;
  /** Milliseconds: of the popular events, of which most are in memory, and of any others. */
  readonly hotP50: number;
  readonly hotP99: number;
  readonly coldP99: number;
  /** Answers other than 200 and 304, by status. */
  readonly failures: Readonly<Record<string, number>>;
}

/** Clients of several kinds, which don't wait for one another. */
export class MixedLoad {
  private readonly clients: readonly LoadClient[];

  constructor(database: SeededDatabase) {
    this.clients = MIX.map(() => new LoadClient(database));
  }

  /** @param perSecond requests of all clients together */
  async run(
    server: RunningServer,
    perSecond: number,
    seconds: number,
    seed: number,
  ): Promise<MixedResult> {
    const results = await Promise.all(
      this.clients.map((client, index) => {
        const { share, ...load } = MIX[index] ?? MIX[0];
        const rate = share * perSecond;
        return client.run(server, { ...load, rate, connections: CONNECTIONS, seconds, seed });
      }),
    );
    const [hot, , cold] = results;
    return {
      requests: sum(results.map(({ requests }) => requests)),
      due: perSecond * seconds,
      hotP50: hot?.p50 ?? NaN,
      hotP99: hot?.p99 ?? NaN,
      coldP99: cold?.p99 ?? NaN,
      failures: failuresOf(results),
    };
  }

  async close(): Promise<void> {
    await Promise.all(this.clients.map((client) => client.close()));
  }
}

function failuresOf(results: readonly Measurement[]): Record<string, number> {
  const failures: Record<string, number> = {};
  for (const [status, count] of results.flatMap(({ statuses }) => Object.entries(statuses))) {
    if (status !== '200' && status !== '304') failures[status] = (failures[status] ?? 0) + count;
  }
  return failures;
}
