import { Injectable } from '@nestjs/common';
import { ChangeFeed } from '../change-feed/change-feed.js';
import { COLLECTIONS } from '../common/collections.js';
import { MarketCache } from '../markets/cache/market-cache.js';
import { Metrics } from './metrics.js';

/** Shows what memory holds, and how far the change feed is to be trusted. */
@Injectable()
export class MemoryMetrics {
  constructor(metrics: Metrics, cache: MarketCache, feed: ChangeFeed) {
    metrics.gauges({
      markets_cache_bytes: ['Memory held by cached markets.', () => cache.bytes],
      markets_cache_scopes: ['Events and fixtures whose markets are cached.', () => cache.count],
      change_feed_up: [
        '1 while the change feed tells what changes in MongoDB, else 0.',
        () => Number(feed.blindBecause === undefined),
      ],
      change_feed_lag_seconds: [
        'Time from the newest change in MongoDB until the feed told it.',
        () => feed.listeners.lagMs / 1_000,
      ],
      change_feed_age_seconds: [
        'Time since the feed was last known to have told everything.',
        () => feed.ageMs / 1_000,
      ],
      change_feed_majority_lag_seconds: [
        'How long the primary has had writes that a majority of the members has not; 0 while it has none.',
        () => feed.progress.majorityLagMs / 1_000,
      ],
    });
    const events = metrics.counter('change_feed_events_total', 'Changes that the feed has told.');
    for (const collection of COLLECTIONS) {
      feed.listen(collection, { committed: ({ changes }) => events.inc(changes.length) });
    }
  }
}
