import { Injectable } from '@nestjs/common';
import { ChangeFeed } from '../change-feed/change-feed.js';
import { MarketCache } from '../markets/cache/market-cache.js';
import { Metrics } from './metrics.js';

/** Shows what memory holds, and how far the change feed is to be trusted. */
@Injectable()
export class MemoryMetrics {
  constructor(metrics: Metrics, cache: MarketCache, feed: ChangeFeed) {
    metrics.cacheBytes.read = () => cache.bytes;
    metrics.cacheScopes.read = () => cache.count;
    metrics.changeFeedUp.read = () => Number(feed.blindBecause === undefined);
    metrics.changeFeedEvents.read = () => feed.eventsTold;
    metrics.changeFeedLag.read = () => feed.lagMs / 1_000;
    metrics.changeFeedAge.read = () => feed.ageMs / 1_000;
    metrics.changeFeedMajorityLag.read = () => feed.majorityLagMs / 1_000;
  }
}
