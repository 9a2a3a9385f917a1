import { expect, it } from '@jest/globals';
import { overloaded, Problem } from '../http/problem.js';
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
  ]) {
    const log = newLog();
    for (const problem of problems) log.refused('an id', problem);
  }
  expect(lines.map((line) => (JSON.parse(line) as { code: string }).code)).toEqual([
    'overloaded',
    'database_unavailable',
    'database_unavailable',
    'overloaded',
  ]);
});
