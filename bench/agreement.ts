import { isDeepStrictEqual } from 'node:util';
import { LOADED_AT_ASK } from '../src/markets/cache/load-candidates.js';
import { CONTENDERS, startContender } from './contenders.js';
import type { SeededDatabase } from './mongo.js';
import { end } from './processes.js';
import { targetsOf, WORKLOADS } from './workloads.js';

const TARGETS_OF_EACH = 50;

/**
 * Asks all contenders the same, so often that memory answers, too.
 * @throws Error when one answers otherwise than the others: then there is nothing to compare
 */
export async function checkAgreement(database: SeededDatabase): Promise<void> {
  const { markets, key } = database;
  const targets = WORKLOADS.flatMap((workload) => {
    const next = targetsOf(workload, markets, 1);
    return Array.from({ length: TARGETS_OF_EACH }, next);
  });
  const servers = await Promise.all(CONTENDERS.map((each) => startContender(each, database)));
  for (const target of Array.from({ length: LOADED_AT_ASK }, () => targets).flat()) {
    const [expected, ...others] = await Promise.all(
      servers.map(async ({ port }) => {
        const url = `http://127.0.0.1:${port}${target}`;
        const response = await fetch(url, { headers: { 'X-API-Key': key } });
        return response.json();
      }),
    );
    if (!others.every((answer) => isDeepStrictEqual(answer, expected))) {
      throw new Error(`The answers to ${target} are not the same`);
    }
  }
  await Promise.all(servers.map(({ process }) => end(process)));
}
