import type { NextFunction, Response } from 'express';
import { DATA_HEADERS } from '../response-headers.js';
import type { ApiRequest } from '../api-request.js';
import { Problem, PROBLEM_MEDIA_TYPE } from '../problem.js';

export function overloaded(): Problem {
  return new Problem('overloaded', 'The service has too much to do. Please try again.');
}

/** A list of names and values is what Node sends fastest. */
const HEADERS: readonly string[] = Object.entries({
  ...DATA_HEADERS,
  'Content-Type': PROBLEM_MEDIA_TYPE,
  'Cache-Control': 'no-store',
  ...overloaded().headers,
}).flat();

const ID = '<id>';
const [BODY_START = '', BODY_END = ''] = JSON.stringify(overloaded().body(ID)).split(ID);

/** Refuses a request at the least cost, before anything else of it is looked at. */
export function sendOverloaded(request: ApiRequest, response: Response): void {
  const { requestId } = request;
  request.problem = 'overloaded';
  const body = `${BODY_START}${requestId}${BODY_END}`;
  response.writeHead(503, [
    ...HEADERS,
    'X-Request-Id',
    requestId,
    'Content-Length',
    String(body.length),
  ]);
  response.end(request.method === 'HEAD' ? undefined : body, 'latin1');
}

/** Refuses a request of another origin's page, after the CORS middleware has set what lets the page see why. */
export function refuseOverload(request: ApiRequest, _response: Response, next: NextFunction): void {
  if (request.isRefused) throw overloaded();
  next();
}
