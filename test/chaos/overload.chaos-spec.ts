import { expect, it, jest } from '@jest/globals';
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import type { OverloadResult } from '../../bench/overload.js';
import { measurementsOf } from './measurements.js';

const rows = measurementsOf('too many requests');

/** Where so few are refused, they are those whose turn did not come in time, rather than those who were too many. */
const FEW = 0.01;

// Four minutes of load, and more between on a slow machine.
jest.setTimeout(480_000);

it('serves what can be served, and refuses the rest at once', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    resolve('dist/bench/bench/overload.js'),
  ]);
  const results = JSON.parse(stdout) as OverloadResult[];
  expect(results.length).toBeGreaterThan(0);
  // Every figure is told before one of them fails the test.
  for (const { name, peak, due, sent, lost, left, slowestProbe } of results) {
    rows.note({ seen: `${name}: peak, requests/s`, measured: peak });
    rows.note({ seen: `${name}: asked for, × peak`, measured: due });
    rows.note({ seen: `${name}: sent, × peak`, measured: sent });
    rows.note({ seen: `${name}: without an answer`, measured: lost });
    rows.note({ seen: `${name}: whose callers left, × peak`, measured: left });
    rows.note({ seen: `${name}: slowest probe`, measured: slowestProbe, unit: 'ms' });
  }
  const checks = results.flatMap((result) => checksOf(result));
  const failures = checks.flatMap((check) => {
    try {
      check();
      return [];
    } catch (error) {
      return [error];
    }
  });
  if (failures.length > 0) throw new AggregateError(failures, String(failures[0]));
});

const percentOf = (share: number) => ({ measured: 100 * share, unit: '%' }) as const;

function checksOf(result: OverloadResult) {
  const { name, asked, goodput, goodputByCpu, refused, refusedProbes, served } = result;
  return [
    () => rows.atLeast(100 * asked.goodput, { seen: `${name}: goodput`, ...percentOf(goodput) }),
    () => rows.note({ seen: `${name}: goodput by CPU time`, ...percentOf(goodputByCpu) }),
    ...(refused.count > 0 ? refusalsOf(result) : []),
    () => rows.atMost(2_000, { seen: `${name}: 200, p99`, measured: served.p99, unit: 'ms' }),
    () => rows.exactly(0, { seen: `${name}: probes refused`, measured: refusedProbes }),
  ];
}

function refusalsOf({ name, asked, refused, served }: OverloadResult) {
  const share = refused.count / (refused.count + served.count);
  const median = { seen: `${name}: 503, p50`, measured: refused.p50, unit: 'ms' } as const;
  const isBound = asked.refusedInMs !== null && share > FEW;
  return [
    () => rows.note({ seen: `${name}: refused, of all answers`, ...percentOf(share) }),
    () => (isBound ? rows.atMost(asked.refusedInMs, median) : rows.note(median)),
    () => rows.note({ seen: `${name}: 503, p99`, measured: refused.p99, unit: 'ms' }),
  ];
}
