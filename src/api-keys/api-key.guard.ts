import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { Config } from '../config.js';
import type { ApiRequest, Caller } from '../http/api-request.js';
import { API_KEY_HEADER, API_KEY_QUERY, credentialsOf } from '../http/credentials.js';
import { Problem } from '../http/problem.js';
import { Public } from '../http/public.decorator.js';
import { clientNetwork } from './client-network.js';
import { keyIdOf } from './key-form.js';
import { KeyVerifier } from './key-verifier.js';
import { rateLimited } from './rate-limited.js';
import { RequestCost, RequestLimit } from './request-limit.js';
import { ENDED_STATES } from './stored-api-key.js';
import { WindowCounter } from './window-counter.js';

/** Clients whose refused keys are counted, some 500 bytes each. */
const CLIENTS_MAX = 20_000;

/** What a client with too many bad keys is told to wait: meanwhile its key is read, and a good one is then accepted. */
const RETRY_AFTER_MS = 1_000;

/** Lets a request pass that has exactly one key, good and within its limit. No answer says why a key is bad. */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  /** How many keys of each client were refused. */
  private readonly failures = new WindowCounter(CLIENTS_MAX);

  /** Where a key may be sent. */
  private readonly place = this.config.authAllowQueryKey
    ? `in the header ${API_KEY_HEADER} or as the query parameter ${API_KEY_QUERY}`
    : `in the header ${API_KEY_HEADER}`;

  constructor(
    private readonly reflector: Reflector,
    private readonly verifier: KeyVerifier,
    private readonly limit: RequestLimit,
    private readonly config: Config,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const targets = [context.getHandler(), context.getClass()];
    if (this.reflector.getAllAndOverride(Public, targets)) return true;
    const request = context.switchToHttp().getRequest<ApiRequest>();
    const { inQuery, inHeader } = credentialsOf(request);
    if (inQuery.length + inHeader.length > 1) {
      throw new Problem('ambiguous_credentials', `Send one API key, once: ${this.place}.`);
    }
    const [key] = this.config.authAllowQueryKey ? [...inQuery, ...inHeader] : inHeader;
    if (!key) throw this.refusal(request, key === undefined ? 'none' : 'empty');
    const apiKey = await this.verify(request, key);
    const cost = this.reflector.get(RequestCost, context.getHandler())?.(request);
    await this.limit.consume(Object.assign(request, { apiKey }), cost);
    return true;
  }

  private async verify(request: ApiRequest, key: string): Promise<Caller> {
    const client = clientNetwork(request.ip);
    const limit = this.config.authFailuresPerMinute;
    const used = this.failures.used(client);
    const isLimited = limit > 0 && used >= limit;
    const verdict = await this.verifier.check(key, request.socket, isLimited);
    if (typeof verdict === 'object') return verdict;
    if (isLimited) {
      const detail = 'Too many requests with bad keys came from your address. Please wait.';
      throw rateLimited(detail, { policy: 'failed-keys', limit, used, msLeft: RETRY_AFTER_MS });
    }
    if (limit > 0) this.failures.add(client);
    if (ENDED_STATES.some((state) => state === verdict)) request.endedKeyId = keyIdOf(key);
    throw this.refusal(request, verdict);
  }

  private refusal(request: ApiRequest, reason: string): Problem {
    request.authFailure = reason;
    return new Problem('unauthorized', `A valid API key is needed, ${this.place}.`, {
      headers: { 'WWW-Authenticate': 'ApiKey realm="markets"' },
    });
  }
}
