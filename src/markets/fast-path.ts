import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { LRUCache } from 'lru-cache';
import { KeyVerifier } from '../api-keys/key-verifier.js';
import { RequestLimit } from '../api-keys/request-limit.js';
import { Config } from '../config.js';
import type { ApiRequest, KeyedRequest } from '../http/api-request.js';
import { API_KEY_QUERY, KEY_HEADER, mayHoldKey } from '../http/credentials.js';
import { sendFailure } from '../http/problem.filter.js';
import { checkProtocol } from '../http/read-request.js';
import { MarketCache } from './cache/market-cache.js';
import type { MarketsQuery } from './markets-query.dto.js';
import type { Scope } from './scope.js';
import { sendPage } from './send-answer.js';
import { UnsentAnswers } from './unsent-answers.js';

const TARGETS_MAX = 5_000;
const TARGET_LENGTH_MAX = 512;

const KEY_IN_QUERY = `${API_KEY_QUERY}=`;

/** What the slow path found out about a request target. */
interface Known {
  readonly route: unknown;
  readonly scope: Scope;
  readonly query: MarketsQuery;
}

/**
 * Answers plain requests (GET or HEAD, with one key that memory knows) in front of Express, if their target was
 * answered from memory before. The slow path stays the only place where a request is judged: it takes all others.
 */
@Injectable()
export class FastPath {
  /** By target, without the key. */
  readonly known = new LRUCache<string, Known>({ max: TARGETS_MAX });

  constructor(
    private readonly verifier: KeyVerifier,
    private readonly limit: RequestLimit,
    private readonly cache: MarketCache,
    private readonly config: Config,
    private readonly unsent: UnsentAnswers,
  ) {}

  /** To be called for each request that the slow path answered from memory. */
  remember(request: ApiRequest, scope: Scope, query: MarketsQuery): void {
    const { originalUrl, rawQuery, route } = request;
    const { target, key } = withoutKey(originalUrl);
    if (target.length > TARGET_LENGTH_MAX || this.known.has(target)) return;
    const keys = rawQuery.filter(([name]) => name === API_KEY_QUERY).length;
    const holdsKey = keys !== (key === undefined ? 0 : 1) || mayHoldKey(target, request);
    if (!holdsKey) this.known.set(target, { route, scope, query });
  }

  /** @returns whether it was answered; if not, the request is as it was */
  answer(request: ApiRequest, response: Response): boolean {
    const { target, key: queryKey } = withoutKey(request.url);
    const known = this.known.get(target);
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!known || !isRead || request.onAdminPort) return false;
    const fail = (error: unknown) => sendFailure(request, response, error);
    try {
      const key = this.onlyKey(queryKey, request.headers[KEY_HEADER]);
      const apiKey = key === undefined ? undefined : this.verifier.recall(key, request.socket);
      const answer = apiKey && this.cache.recall(known.scope, known.query);
      if (!answer) return false;
      checkProtocol(request);
      request.route = known.route;
      request.apiKey = apiKey;
      const send = () => {
        this.unsent.add(request as KeyedRequest, response, [answer.body]);
        request.served = { source: 'memory', items: answer.items };
        return sendPage(request, response, answer);
      };
      // Redis is waited for. What is sent then was current when the request came.
      const counted = this.limit.consume({ apiKey, answerHeaders: request.answerHeaders });
      (counted ? counted.then(send) : send())?.catch(fail);
    } catch (error) {
      fail(error);
    }
    return true;
  }

  private onlyKey(
    inQuery: string | undefined,
    inHeader: string | string[] | undefined,
  ): string | undefined {
    if (inHeader === undefined) return this.config.authAllowQueryKey ? inQuery : undefined;
    return inQuery === undefined && typeof inHeader === 'string' ? inHeader : undefined;
  }
}

/** A target without the key in its query, and the key. A second one stays in the target, which then is not known. */
function withoutKey(url: string): { target: string; key?: string } {
  const start = url.indexOf('?');
  if (start < 0) return { target: url };
  const parts = url.slice(start + 1).split('&');
  const index = parts.findIndex((part) => part.startsWith(KEY_IN_QUERY));
  if (index < 0) return { target: url };
  const [part = ''] = parts.splice(index, 1);
  const path = url.slice(0, start);
  const target = parts.length > 0 ? `${path}?${parts.join('&')}` : path;
  return { target, key: part.slice(KEY_IN_QUERY.length) };
}
