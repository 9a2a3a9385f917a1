import { expect, it } from '@jest/globals';
import { Timestamp } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import type { ChangeFeed } from '../change-feed/change-feed.js';
import type { ChangeListener } from '../change-feed/change.js';
import type { MarketCache } from '../markets/cache/market-cache.js';
import { MemoryMetrics } from './memory-metrics.js';
import { Metrics } from './metrics.js';

it('tells how much memory holds, and counts the changes of every collection', async () => {
  const metrics = new Metrics(0);
  const listeners: ChangeListener[] = [];
  const listen = (_collection: string, listener: ChangeListener) => listeners.push(listener);
  const feed = { listeners: {}, progress: {}, listen } as unknown as ChangeFeed;
  void new MemoryMetrics(metrics, { bytes: 2_048, count: 3 } as MarketCache, feed);
  const changes = [{ kind: 'collectionReplaced' }, { kind: 'collectionReplaced' }] as const;
  const clusterTime = new Timestamp({ t: 1, i: 1 });
  for (const listener of listeners) listener.committed?.({ clusterTime, changes });
  const text = String(await metrics.text());
  for (const figure of ['markets_cache_bytes 2048', 'markets_cache_scopes 3'])
    expect(text).toContain(`${figure}\n`);
  // Of markets and of keys.
  expect(text).toContain('change_feed_events_total 4\n');
});

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

it('waits for a figure that has to be asked for', async () => {
  const metrics = new Metrics(0);
  metrics.gauges({ asked: ['A figure of somebody else.', () => delay(20, 7)] });
  expect(String(await metrics.text())).toContain('\nasked 7\n');
});
