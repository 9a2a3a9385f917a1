import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { ApiRequest } from '../http/api-request.js';
import { Problem } from '../http/problem.js';
import { IS_PUBLIC } from '../http/public.decorator.js';
import { Config } from '../config.js';
import type { ApiKey } from './api-key.schema.js';
import { FailedKeys } from './failed-keys.js';
import { KeyVerifier } from './key-verifier.js';

export const API_KEY_QUERY = 'api_key';
export const API_KEY_HEADER = 'X-API-Key';

/** Lets a request pass only with one good key. Whatever is wrong with it, the answer is the same. */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly verifier: KeyVerifier,
    private readonly failedKeys: FailedKeys,
    @Inject(Config) private readonly config: Config,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (this.isPublic(context)) return true;
    const request = context.switchToHttp().getRequest<ApiRequest>();
    const credentials = this.credentialsOf(request);
    if (credentials.length > 1) throw ambiguous();
    const [key] = credentials;
    if (!key) throw refuse(request, key === undefined ? 'none' : 'empty');
    request.apiKey = await this.verify(request, key);
    return true;
  }

  private isPublic(context: ExecutionContext): boolean {
    return (
      this.reflector.getAllAndOverride<boolean | undefined>(IS_PUBLIC, [
        context.getHandler(),
        context.getClass(),
      ]) === true
    );
  }

  private credentialsOf({ rawQuery, rawHeaders }: ApiRequest): string[] {
    const inHeaders = headerLines(rawHeaders, API_KEY_HEADER.toLowerCase());
    if (!this.config.authAllowQueryKey) return inHeaders;
    const inQuery = rawQuery.filter(([name]) => name === API_KEY_QUERY).map(([, value]) => value);
    return [...inQuery, ...inHeaders];
  }

  private async verify(request: ApiRequest, key: string): Promise<ApiKey> {
    const recalled = this.verifier.recall(key);
    if (typeof recalled === 'object') return recalled;
    const address = request.ip ?? '';
    if (!this.verifier.wasGood(key)) this.failedKeys.check(address);
    const verdict = recalled ?? (await this.verifier.lookUp(key));
    if (typeof verdict === 'object') return verdict;
    this.failedKeys.count(address);
    throw refuse(request, verdict);
  }
}

/** The values of a header, one for each line: Node's own `headers` joins or drops repeated ones. */
function headerLines(rawHeaders: readonly string[], lowerCaseName: string): string[] {
  return rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === lowerCaseName,
  );
}

function ambiguous(): Problem {
  return new Problem(
    'ambiguous_credentials',
    `Send one API key: once in the header ${API_KEY_HEADER} or once as the query parameter ${API_KEY_QUERY}.`,
  );
}

function refuse(request: ApiRequest, reason: string): Problem {
  request.authFailure = reason;
  return new Problem(
    'unauthorized',
    `A valid API key is needed, in the header ${API_KEY_HEADER} or as the query parameter ${API_KEY_QUERY}.`,
    { headers: { 'WWW-Authenticate': 'ApiKey realm="markets"' } },
  );
}
