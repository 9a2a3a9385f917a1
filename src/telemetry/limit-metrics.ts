import { Injectable } from '@nestjs/common';
import { RequestCounter } from '../api-keys/request-counter.js';
import { Metrics } from './metrics.js';

/** Shows whether a key's limit holds over all instances. */
@Injectable()
export class LimitMetrics {
  constructor(metrics: Metrics, counter: RequestCounter) {
    metrics.gauges({
      redis_away: [
        '1 while Redis can not be used, so that each process counts requests for itself, else 0.',
        () => Number(counter.isRedisAway),
      ],
    });
  }
}
