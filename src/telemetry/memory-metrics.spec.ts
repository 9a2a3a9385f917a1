import { expect, it } from '@jest/globals';
import type { ChangeFeed } from '../change-feed/change-feed.js';
import type { MarketCache } from '../markets/cache/market-cache.js';
import { MemoryMetrics } from './memory-metrics.js';
import { Metrics } from './metrics.js';

it('tells the times of the change feed in seconds', async () => {
  const metrics = new Metrics(0);
  const listeners = { lagMs: 2_500 };
  const feed = {
    ageMs: 1_500,
    listeners,
    progress: { majorityLagMs: 3_500 },
    listen: () => undefined,
  };
  void new MemoryMetrics(
    metrics,
    { bytes: 1, count: 1 } as MarketCache,
    feed as unknown as ChangeFeed,
  );
  const text = String(await metrics.text());
  for (const figure of ['lag_seconds 2.5', 'age_seconds 1.5', 'majority_lag_seconds 3.5', 'up 1'])
    expect(text).toContain(`change_feed_${figure}\n`);
});
