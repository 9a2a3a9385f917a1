import { expect, it } from '@jest/globals';
import type { ChangeFeed } from '../change-feed/change-feed.js';
import type { StreamObserver } from '../markets/watch/stream-context.js';
import type { StreamHub } from '../markets/watch/stream-hub.js';
import type { WatchedScopes } from '../markets/watch/watched-scopes.js';
import { Metrics } from './metrics.js';
import { WatchMetrics } from './watch-metrics.js';

it('counts the time from MongoDB to this process as well as the time within it', async () => {
  const metrics = new Metrics(0);
  let observer: StreamObserver | undefined;
  const hub = { count: 0, observe: (told: StreamObserver) => (observer = told) } as unknown;
  const watched = { bytes: 0 } as WatchedScopes;
  const feed = { listeners: { lagMs: 2_000 } } as ChangeFeed;
  void new WatchMetrics(metrics, hub as StreamHub, watched, feed);
  observer?.written(3, 500);
  const text = String(await metrics.text());
  expect(text).toContain('stream_lag_seconds_sum 2.5');
  expect(text).toContain('stream_changes_conflated_total 2');
});
