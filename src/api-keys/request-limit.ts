import { Injectable } from '@nestjs/common';
import { Config } from '../config.js';
import type { KeyedRequest } from '../http/api-request.js';
import { rateLimited, rateLimitHeaders } from './rate-limited.js';
import { RequestCounter } from './request-counter.js';
import type { Added } from './window-counter.js';

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
   * Counts a request, at once unless Redis counts.
   * @throws Problem `rate_limited`
   */
  take(request: Limited): void | Promise<void> {
    const { id } = request.apiKey;
    const limit = this.limitOf(request);
    if (limit === 0) return;
    const count = this.counter.add(id, 1, limit);
    if (count instanceof Promise) return count.then((later) => admit(request, limit, later));
    admit(request, limit, count);
  }

  /**
   * Counts the rest of a request's cost, of which 1 was counted already. If less is left, the request is refused and
   * costs nothing at all; but if the cost is above the key's whole limit, it passes and uses up what is left.
   * @throws Problem `rate_limited`
   */
  async charge(request: Limited, cost: number): Promise<void> {
    const { id } = request.apiKey;
    const limit = this.limitOf(request);
    const rest = cost - 1;
    if (limit === 0 || rest <= 0) return;
    const isAboveLimit = cost > limit;
    const count = this.counter.add(id, rest, isAboveLimit ? undefined : limit, 1);
    admit(request, limit, await count);
  }

  private limitOf({ apiKey }: Limited): number {
    return apiKey.rateLimit ?? this.config.rateLimitPerMinute;
  }
}

function admit({ answerHeaders }: Limited, limit: number, count: Added): void {
  if (!count.fits) {
    const detail = 'Too many requests with this key. Please wait.';
    throw rateLimited(detail, { policy: POLICY, limit, ...count });
  }
  Object.assign(answerHeaders, rateLimitHeaders({ policy: POLICY, limit, ...count }));
}
