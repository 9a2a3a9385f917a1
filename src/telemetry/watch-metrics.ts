import { Injectable } from '@nestjs/common';
import { ChangeFeed } from '../change-feed/change-feed.js';
import { STREAM_ENDS } from '../markets/watch/stream-events.js';
import { StreamHub } from '../markets/watch/stream-hub.js';
import { WatchedScopes } from '../markets/watch/watched-scopes.js';
import { Metrics } from './metrics.js';

/** From a commit to its event: within milliseconds as a rule. Seconds. */
const LAG_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 1, 10];

/** Shows what the streams of changes do, and what is held for them. */
@Injectable()
export class WatchMetrics {
  constructor(metrics: Metrics, hub: StreamHub, watched: WatchedScopes, feed: ChangeFeed) {
    metrics.gauges({
      streams_open: ['Streams of changes that are open.', () => hub.count],
      watch_bytes: ['Memory held by events and fixtures watched.', () => watched.bytes],
    });
    const opened = metrics.counter('streams_opened_total', 'Streams of changes opened.');
    const ended = metrics.counter('streams_ended_total', 'Streams of changes that ended, by why.', [
      'reason',
    ]);
    for (const reason of STREAM_ENDS) ended.inc({ reason }, 0);
    const events = metrics.counter(
      'stream_events_total',
      'Events with changes written to streams.',
    );
    const conflated = metrics.counter(
      'stream_changes_conflated_total',
      'Changes that a stream was told together with others, beyond the first.',
    );
    const lag = metrics.histogram(
      'stream_lag_seconds',
      'Time from a commit in MongoDB until it was written to a stream, beyond what `conflateMs` asks for.',
      LAG_BUCKETS,
    );
    hub.observer = {
      opened: () => opened.inc(),
      ended: (reason) => ended.inc({ reason }),
      written: (changes, waitedMs) => {
        events.inc();
        conflated.inc(changes - 1);
        lag.observe((feed.listeners.lagMs + waitedMs) / 1_000);
      },
    };
  }
}
