import { Injectable } from '@nestjs/common';
import { ChangeFeed } from '../change-feed/change-feed.js';
import { STREAM_ENDS } from '../markets/watch/stream-events.js';
import { StreamHub } from '../markets/watch/stream-hub.js';
import { WatchedScopes } from '../markets/watch/watched-scopes.js';
import { Metrics } from './metrics.js';

/** Shows what the streams of changes do, and what is held for them. */
@Injectable()
export class WatchMetrics {
  constructor(metrics: Metrics, hub: StreamHub, watched: WatchedScopes, feed: ChangeFeed) {
    for (const reason of STREAM_ENDS) metrics.streamsEnded.inc({ reason }, 0);
    metrics.streamsOpen.read = () => hub.count;
    metrics.watchBytes.read = () => watched.bytes;
    hub.observer = {
      opened: () => metrics.streamsOpened.inc(),
      ended: (reason) => metrics.streamsEnded.inc({ reason }),
      written: ({ commits, waitedMs }) => {
        metrics.streamEvents.inc();
        metrics.streamConflated.inc(Math.max(0, commits - 1));
        metrics.streamLag.observe((feed.lagMs + waitedMs) / 1_000);
      },
    };
  }
}
