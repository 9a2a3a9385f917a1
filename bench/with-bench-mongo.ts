import { BenchMongo } from './mongo.js';
import { endAll } from './processes.js';

/** Runs something with a MongoDB, and ends all that was started: also on Ctrl-C. */
export async function withBenchMongo(
  say: (line: string) => void,
  use: (mongo: BenchMongo) => Promise<void>,
): Promise<void> {
  const mongo = await BenchMongo.open(say);
  let tidiedUp: Promise<void> | undefined;
  const tidyUp = () => (tidiedUp ??= endAll().then(() => mongo.close()));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void tidyUp().finally(() => process.exit(1)));
  }
  try {
    await use(mongo);
  } finally {
    await tidyUp();
  }
}
