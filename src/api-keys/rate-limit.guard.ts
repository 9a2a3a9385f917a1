import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { ApiRequest } from '../http/api-request.js';
import { Config } from '../config.js';
import { rateLimited, rateLimitHeaders } from './rate-limited.js';
import { RequestCounter, WINDOW_SECONDS } from './request-counter.js';

/** Limits the requests of each key, over all routes that need one. */
@Injectable()
export class RateLimitGuard implements CanActivate {
  constructor(
    private readonly counter: RequestCounter,
    @Inject(Config) private readonly config: Config,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<ApiRequest>();
    const { apiKey } = request;
    const limit = apiKey?.rateLimit ?? this.config.rateLimitPerMinute;
    if (!apiKey || limit === 0) return true;

    const { consumedPoints: used, msBeforeNext: msLeft } = await this.counter.count(apiKey.id);
    const state = { policy: 'default', limit, windowSeconds: WINDOW_SECONDS, used, msLeft };
    if (used > limit) throw rateLimited('Too many requests with this key. Please wait.', state);
    Object.assign(request.answerHeaders, rateLimitHeaders(state));
    return true;
  }
}
