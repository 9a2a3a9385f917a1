import { expect, it } from '@jest/globals';
import type { ChangeFeed } from '../change-feed/change-feed.js';
import type { StreamHub } from '../markets/watch/stream-hub.js';
import type { WatchedScopes } from '../markets/watch/watched-scopes.js';
import { Metrics } from './metrics.js';
import { WatchMetrics } from './watch-metrics.js';

it('counts what streams do, and the time from MongoDB to this process as well as that within it', async () => {
  const metrics = new Metrics(0);
  const hub = { count: 7 } as StreamHub;
  const watched = { bytes: 2_048 } as WatchedScopes;
  const feed = { listeners: { lagMs: 2_000 } } as ChangeFeed;
  void new WatchMetrics(metrics, hub, watched, feed);
  hub.observer?.opened();
  hub.observer?.written(3, 500);
  const text = String(await metrics.text());
  expect(text).toContain('stream_lag_seconds_sum 2.5');
  // As a rule it takes milliseconds.
  expect(text).toContain('stream_lag_seconds_bucket{le="0.005"} 0\n');
  expect(text).toContain('stream_changes_conflated_total 2');
  const figures = ['streams_open 7', 'watch_bytes 2048', 'streams_opened_total 1'];
  for (const figure of [...figures, 'stream_events_total 1'])
    expect(text).toContain(`\n${figure}\n`);
});
