import type { Response } from 'express';
import type { ApiRequest } from '../http/api-request.js';
import type { Problem } from '../http/problem.js';
import type { ProblemCode } from '../http/problem-codes.js';

/** Any path that is no route of ours, in log and metrics. */
const UNKNOWN_ROUTE = 'unknown';

/** The status of an answer that its client did not wait for, as nginx has it. */
const CLIENT_GONE = 499;

/** How a request went: a line of the log. Of what the caller wrote nothing is in it but a sane request id. */
export interface RequestOutcome {
  readonly requestId: string;
  readonly method: string;
  /** The route's template, in Express' words. */
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
  /** The problem's code, if it failed. */
  readonly code?: ProblemCode;
  readonly keyId?: string;
  readonly authFailure?: string;
  readonly source?: 'memory' | 'database';
  readonly items?: number;
  /** Of a stream: the events that were written, and why it ended. */
  readonly events?: number;
  readonly endReason?: string;
  /** Whether the client left before the whole answer was sent. */
  readonly aborted?: boolean;
}

export function outcomeOf(request: ApiRequest, response: Response): RequestOutcome {
  const { apiKey, authFailure, method, problem, requestId, served, startedAt, stream } = request;
  return {
    requestId,
    method,
    route: (request.route as { path: string } | undefined)?.path ?? UNKNOWN_ROUTE,
    status: response.headersSent ? response.statusCode : CLIENT_GONE,
    durationMs: Math.round((performance.now() - startedAt) * 100) / 100,
    ...(problem && { code: problem }),
    ...(apiKey && { keyId: apiKey.id }),
    ...(authFailure && { authFailure }),
    ...served,
    ...(stream && { events: stream.events, endReason: stream.reason ?? 'left' }),
    ...(!response.writableFinished && { aborted: true }),
  };
}

/** Of a request that the HTTP parser refused: nothing of it could be read. */
export function refusalOf(requestId: string, problem: Problem): RequestOutcome {
  return {
    requestId,
    method: 'unknown',
    route: UNKNOWN_ROUTE,
    status: problem.getStatus(),
    durationMs: 0,
    code: problem.code,
  };
}
