import type { Response } from 'express';
import type { ApiRequest } from '../http/api-request.js';
import type { Problem } from '../http/problem.js';

/** Any path that is no route of ours, in log and metrics. */
const UNKNOWN_ROUTE = 'unknown';

/** The status of an answer that its client did not wait for, as nginx has it. */
const CLIENT_GONE = 499;

/** How a request went: a line of the log. Of what the caller wrote nothing is in it but a sane request id. */
export type RequestOutcome = ReturnType<typeof outcomeOf>;

export function outcomeOf(request: ApiRequest, response: Response) {
  const { apiKey, authFailure, method, problem, requestId, served, socket, startedAt, stream } =
    request;
  const keyId = apiKey?.id ?? request.endedKeyId;
  return {
    requestId,
    method,
    // The route's template, in Express' words.
    route: (request.route as { path: string } | undefined)?.path ?? UNKNOWN_ROUTE,
    status: response.headersSent ? response.statusCode : CLIENT_GONE,
    durationMs: Math.round((performance.now() - startedAt) * 100) / 100,
    ...(problem && { code: problem }),
    ...(keyId && { keyId }),
    ...(authFailure && { authFailure }),
    ...served,
    ...(stream && { events: stream.events, endReason: stream.reason }),
    // Whether the client left before the whole answer was sent. Node counts an answer that was cut as finished.
    ...(socket.destroyed && { aborted: true }),
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
