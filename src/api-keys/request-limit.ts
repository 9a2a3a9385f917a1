import { Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { Config } from '../config.js';
import type { ApiRequest, KeyedRequest } from '../http/api-request.js';
import { rateLimited, rateLimitHeaders } from './rate-limited.js';
import { RequestCounter } from './request-counter.js';
import type { Added } from './window-counter.js';

/** How many requests a request of a route counts as; without it, one. */
export const RequestCost = Reflector.createDecorator<(request: ApiRequest) => number>();

/** The limit's name in the `RateLimit` headers. */
const POLICY = 'default';

type Limited = Pick<KeyedRequest, 'apiKey' | 'answerHeaders'>;

/** The requests per minute of each key, over all routes that need one. */
@Injectable()
export class RequestLimit {
  constructor(
    private readonly counter: RequestCounter,
    private readonly config: Config,
  ) {}

  /**
   * Counts a request, at once unless Redis counts. If less than its cost is left, it is refused and costs nothing; but if
   * the cost is above the key's whole limit, it uses up what is left.
   * @throws Problem `rate_limited`
   */
  consume(request: Limited, cost = 1): void | Promise<void> {
    const { id, rateLimit: limit = this.config.rateLimitPerMinute } = request.apiKey;
    if (limit === 0) return;
    const needed = cost > limit ? 1 : cost;
    const count = this.counter.add(id, cost, limit - needed);
    if (count instanceof Promise) return count.then((later) => admit(request, limit, later));
    admit(request, limit, count);
  }
}

function admit({ answerHeaders }: Limited, limit: number, count: Added): void {
  if (!count.fits) {
    const detail = 'Too many requests with this key. Please wait.';
    throw rateLimited(detail, { policy: POLICY, limit, ...count });
  }
  Object.assign(answerHeaders, rateLimitHeaders({ policy: POLICY, limit, ...count }));
}
