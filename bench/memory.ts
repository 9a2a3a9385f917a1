import { LoadClient } from './load.js';
import { peakMemoryMb } from './machine.js';
import type { SeededDatabase } from './mongo.js';
import { withLoad, type Pace } from './rounds.js';
import { COLD, HOT_CHANGING } from './scenarios.js';

/** The most memory that the service has in use, in MiB, when cold and hot look-ups and changes go on for a while. */
export async function measureMemory(
  database: SeededDatabase,
  { soakSeconds }: Pace,
): Promise<number> {
  const client = new LoadClient(database);
  try {
    return await withLoad(database, HOT_CHANGING, 'service', async (server) => {
      for (const { workload } of [COLD, HOT_CHANGING, COLD]) {
        const seconds = soakSeconds / 3;
        await client.run(server, { workload, conditional: false, seconds, seed: 1 });
      }
      return peakMemoryMb(server.pid);
    });
  } finally {
    await client.close();
  }
}
