import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { Config } from '../config.js';
import type { ApiRequest, Caller } from '../http/api-request.js';
import { API_KEY_HEADER, API_KEY_QUERY, credentialsOf } from '../http/credentials.js';
import { Problem } from '../http/problem.js';
import { IS_PUBLIC } from '../http/public.decorator.js';
import { clientNetwork } from './client-network.js';
import { FailedKeys } from './failed-keys.js';
import { KeyVerifier } from './key-verifier.js';
import { RequestLimit } from './request-limit.js';

/** Lets a request pass with one good key alone, within its limit. Whatever is wrong with a key, the answer is the same. */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly verifier: KeyVerifier,
    private readonly failedKeys: FailedKeys,
    private readonly limit: RequestLimit,
    @Inject(Config) private readonly config: Config,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const targets = [context.getHandler(), context.getClass()];
    if (this.reflector.getAllAndOverride<boolean | undefined>(IS_PUBLIC, targets)) return true;
    const request = context.switchToHttp().getRequest<ApiRequest>();
    const { inQuery, inHeader } = credentialsOf(request);
    if (inQuery.length + inHeader.length > 1) throw ambiguous();
    const [key] = this.config.authAllowQueryKey ? [...inQuery, ...inHeader] : inHeader;
    if (!key) throw this.refusal(request, key === undefined ? 'none' : 'empty');
    request.apiKey = await this.callerOf(request, key);
    await this.limit.take(request);
    return true;
  }

  private async callerOf(request: ApiRequest, key: string): Promise<Caller> {
    const client = clientNetwork(request.ip);
    const isLimited = this.failedKeys.isOverLimit(client);
    const verdict = await this.verifier.check(key, isLimited);
    if (typeof verdict === 'object') return verdict;
    if (isLimited) throw this.failedKeys.refusal(client);
    this.failedKeys.count(client);
    throw this.refusal(request, verdict);
  }

  private refusal(request: ApiRequest, reason: string): Problem {
    request.authFailure = reason;
    const { authAllowQueryKey } = this.config;
    const orQuery = authAllowQueryKey ? ` or as the query parameter ${API_KEY_QUERY}` : '';
    const detail = `A valid API key is needed, in the header ${API_KEY_HEADER}${orQuery}.`;
    return new Problem('unauthorized', detail, {
      headers: { 'WWW-Authenticate': 'ApiKey realm="markets"' },
    });
  }
}

function ambiguous(): Problem {
  return new Problem(
    'ambiguous_credentials',
    `Send one API key: once in the header ${API_KEY_HEADER} or once as the query parameter ${API_KEY_QUERY}.`,
  );
}
