import { createTestRedis, hasRedis } from '../../test/redis.js';
import { Caller } from './caller.js';
import type { Stage } from './stage.js';
import { eventIdOf } from '../bench-markets.js';

export interface LimitResult {
  readonly counted: 'by each instance' | 'together, in Redis';
  readonly instances: number;
  readonly limit: number;
  readonly asked: number;
  readonly accepted: number;
}

const LIMIT = 100;

/** Asks with one key, each instance in turn, for more than its limit, all within the minute. */
export async function measureLimits(stage: Stage, instances: number): Promise<LimitResult[]> {
  const results = [await measure(stage, instances, 'by each instance')];
  if (!hasRedis) return results;
  const redis = await createTestRedis();
  try {
    const env = { REDIS_URL: redis.url };
    results.push(await measure(stage, instances, 'together, in Redis', env));
  } finally {
    await redis.close();
  }
  return results;
}

async function measure(
  stage: Stage,
  count: number,
  counted: LimitResult['counted'],
  env: Record<string, string> = {},
): Promise<LimitResult> {
  const { key } = await stage.issueKey(LIMIT);
  const instances = await stage.start(count, env);
  const callers = instances.map(({ port }) => new Caller(port));
  const asked = (count + 1) * LIMIT;
  const target = `/v1/markets/market/provider/${eventIdOf(0)}`;
  let accepted = 0;
  for (let index = 0; index < asked; index++) {
    const reply = await callers[index % count]?.ask(target, key);
    if (reply?.status === 200) accepted++;
    else if (reply?.status !== 429) throw new Error(`Status ${reply?.status}`);
  }
  for (const caller of callers) caller.close();
  await stage.stopInstances();
  return { counted, instances: count, limit: LIMIT, asked, accepted };
}
