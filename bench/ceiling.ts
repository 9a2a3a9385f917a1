import { startReadyBytes } from './contenders.js';
import { LoadClient } from './load.js';
import type { SeededDatabase } from './mongo.js';
import { end } from './processes.js';

/** Answers a second that the load client gets from a server that does next to nothing: it can't measure more. */
export async function measureCeiling(database: SeededDatabase): Promise<number> {
  const client = new LoadClient(database);
  const server = await startReadyBytes();
  const load = { workload: 'hot', conditional: false, seed: 1 } as const;
  await client.run(server, { ...load, seconds: 1 });
  const { perSecond } = await client.run(server, { ...load, seconds: 2 });
  await end(server.process);
  await client.close();
  return perSecond;
}
