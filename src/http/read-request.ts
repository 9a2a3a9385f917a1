import { randomUUID } from 'node:crypto';
import type { ApiRequest } from './api-request.js';
import { mayHoldKey } from './credentials.js';
import { Problem, refusedByProtocol } from './problem.js';
import { readQuery, routablePath } from './raw-query.js';

/** A client's own request id is kept if it looks like this and holds no key. */
const PLAIN_REQUEST_ID = /^[\w.:-]{1,64}$/;

/** Host and port as RFC 3986 has them, without user information. */
const HOST = /^[\w.~!$&'()*+,;=%:[\]-]+$/;

/** Closes the connection, since what else comes on it may be misread, too. */
const CLOSES = { headers: { Connection: 'close' } };

/** First step in Express: reads a request's query as sent, and refuses what a proxy could read differently. */
export function readRequest(request: ApiRequest): void {
  request.rawQuery ??= readQuery(request.url);
  // A broken encoding must not fail before the key has been checked.
  request.url = routablePath(request.url);
  checkProtocol(request);
}

/** Gives a request its id: the one that came with it, or a new one. */
export function identify(request: ApiRequest): void {
  request.requestId = requestIdOf(request);
  request.answerHeaders = { 'X-Request-Id': request.requestId };
}

function requestIdOf(request: ApiRequest): string {
  const given = request.headers['x-request-id'];
  if (typeof given !== 'string' || !PLAIN_REQUEST_ID.test(given)) return randomUUID();
  request.rawQuery ??= readQuery(request.url);
  return mayHoldKey(given, request) ? randomUUID() : given;
}

/** @throws Problem when a proxy could read the request differently, or it expects what can't be met */
export function checkProtocol(request: ApiRequest): void {
  const { httpVersion, headers, rawHeaders } = request;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    throw new Problem('invalid_request', 'Only HTTP/1.1 and HTTP/1.0 are spoken here.', CLOSES);
  }
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && /^host$/i.test(name));
  const isGood = hosts.length === 0 ? httpVersion === '1.0' : HOST.test(headers.host ?? '');
  if (hosts.length > 1 || !isGood) {
    throw new Problem('invalid_request', 'The request must name one host.', {
      ...CLOSES,
      errors: [{ in: 'header', name: 'Host', detail: 'must be one host, given exactly once' }],
    });
  }
  if (request.hasUnmetExpectation) throw refusedByProtocol(417, CLOSES);
}
