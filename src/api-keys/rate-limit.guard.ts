import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { ApiRequest } from '../http/api-request.js';
import { RequestLimit } from './request-limit.js';

/** Counts each request that came with a key. */
@Injectable()
export class RateLimitGuard implements CanActivate {
  constructor(private readonly limit: RequestLimit) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    await this.limit.take(context.switchToHttp().getRequest<ApiRequest>());
    return true;
  }
}
