import { Injectable } from '@nestjs/common';
import { Config } from '../config.js';
import type { KeyedRequest } from '../http/api-request.js';
import { rateLimited, rateLimitHeaders } from './rate-limited.js';
import { RequestCounter } from './request-counter.js';
import type { Count } from './window-counter.js';

/** In this last part of a window nothing is given back: it would count for the next window. */
const WINDOW_ENDS_MS = 500;

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
    const count = this.counter.add(id);
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
    const added = this.counter.add(id, rest);
    // Without Redis not awaited, so that no other request comes between taking and giving back.
    const taken = added instanceof Promise ? await added : added;
    const excess = taken.used - limit;
    if (excess <= 0) return admit(request, limit, taken);
    const isAboveLimit = cost > limit;
    // At most what this call has added, since other requests change the counter at the same time.
    const refund = isAboveLimit ? Math.min(excess, rest) : cost;
    const left = taken.msLeft < WINDOW_ENDS_MS ? taken : await this.counter.add(id, -refund);
    if (!isAboveLimit) throw refusal(limit, left);
    admit(request, limit, { ...left, used: limit });
  }

  private limitOf({ apiKey }: Limited): number {
    return apiKey.rateLimit ?? this.config.rateLimitPerMinute;
  }
}

function admit({ answerHeaders }: Limited, limit: number, count: Count): void {
  if (count.used > limit) throw refusal(limit, count);
  Object.assign(answerHeaders, rateLimitHeaders({ policy: POLICY, limit, ...count }));
}

function refusal(limit: number, count: Count) {
  const detail = 'Too many requests with this key. Please wait.';
  return rateLimited(detail, { policy: POLICY, limit, ...count });
}
