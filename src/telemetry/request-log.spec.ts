import { expect, it } from '@jest/globals';
import type { Response } from 'express';
import type { ApiRequest } from '../http/api-request.js';
import { overloaded, Problem } from '../http/problem.js';
import { STREAM_PATH } from '../http/routes.js';
import { createLogger } from './logger.js';
import { Metrics } from './metrics.js';
import { RequestLog } from './request-log.js';

it('warns of an outage though it has just warned of too much to do, and the other way round', () => {
  const lines: string[] = [];
  const output = { write: (line: string) => void lines.push(line) };
  const newLog = () =>
    new RequestLog(createLogger({ logLevel: 'warn', logFormat: 'json' }, output), new Metrics());
  const outage = new Problem('database_unavailable', 'MongoDB is away.');
  for (const problems of [
    [overloaded(), outage],
    [outage, overloaded()],
    [outage, new Problem('database_timeout', 'MongoDB is too slow.')],
  ]) {
    const log = newLog();
    for (const problem of problems) log.refused('an id', problem);
  }
  expect(lines.map((line) => (JSON.parse(line) as { code: string }).code)).toEqual([
    'overloaded',
    'database_unavailable',
    'database_unavailable',
    'overloaded',
    'database_unavailable',
    'database_timeout',
  ]);
});

it('takes no stream for a request that was answered slowly', async () => {
  const logger = createLogger({ logLevel: 'fatal', logFormat: 'json' }, { write: () => undefined });
  const metrics = new Metrics(0);
  const stream = { events: 1, reason: 'age' };
  const told = { method: 'GET', route: { path: STREAM_PATH }, socket: {}, startedAt: 0, stream };
  const response = { headersSent: true, statusCode: 200 } as Response;
  new RequestLog(logger, metrics).closed(told as unknown as ApiRequest, response);
  expect(String(await metrics.text())).not.toContain(STREAM_PATH);
});

it('counts a look-up that is refused for its load as shed, whoever asks; not a stream that is one too many', async () => {
  const logger = createLogger({ logLevel: 'fatal', logFormat: 'json' }, { write: () => undefined });
  const metrics = new Metrics(0);
  const log = new RequestLog(logger, metrics);
  const response = { headersSent: true, statusCode: 503 } as Response;
  for (const path of ['/v1/markets/market/fixture/:fixtureId', STREAM_PATH]) {
    const apiKey = { id: 'k', name: 'k' };
    const told = { method: 'GET', route: { path }, apiKey, problem: 'overloaded', socket: {} };
    log.closed({ ...told, startedAt: 0 } as ApiRequest, response);
  }
  expect(String(await metrics.text())).toContain('http_requests_shed_total 1\n');
  // A stream whose key could not be looked at.
  const told = { method: 'GET', route: { path: STREAM_PATH }, problem: 'overloaded', socket: {} };
  log.closed({ ...told, startedAt: 0 } as unknown as ApiRequest, response);
  expect(String(await metrics.text())).toContain('http_requests_shed_total 2\n');
});
