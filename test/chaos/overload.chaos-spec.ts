import { expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import type { OverloadResult } from '../../bench/overload.js';
import { measurementsOf } from './measurements.js';

const rows = measurementsOf('too many requests');

it('serves what can be served, and refuses the rest at once', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    resolve('dist/bench/bench/overload.js'),
  ]);
  const results = JSON.parse(stdout) as OverloadResult[];
  expect(results.length).toBeGreaterThan(0);
  // Every figure is told before one of them fails the test.
  for (const { name, peak, due, sent, lost, slowestProbe } of results) {
    rows.note({ seen: `${name}: peak, requests/s`, measured: peak });
    rows.note({ seen: `${name}: asked for, × peak`, measured: due });
    rows.note({ seen: `${name}: sent, × peak`, measured: sent });
    rows.note({ seen: `${name}: without an answer`, measured: lost });
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

function checksOf({ name, goodput, goodputByCpu, refused, refusedProbes, served }: OverloadResult) {
  return [
    () => rows.atLeast(85, { seen: `${name}: goodput`, measured: 100 * goodput, unit: '%' }),
    () =>
      rows.note({
        seen: `${name}: goodput by CPU time`,
        measured: 100 * goodputByCpu,
        unit: '%',
      }),
    ...(refused.count > 0 ? refusalsOf(name, refused) : []),
    () => rows.atMost(2_000, { seen: `${name}: 200, p99`, measured: served.p99, unit: 'ms' }),
    () => rows.exactly(0, { seen: `${name}: probes refused`, measured: refusedProbes }),
  ];
}

function refusalsOf(name: string, { p50, p99 }: OverloadResult['refused']) {
  return [
    () => rows.atMost(20, { seen: `${name}: 503, p50`, measured: p50, unit: 'ms' }),
    () => rows.note({ seen: `${name}: 503, p99`, measured: p99, unit: 'ms' }),
  ];
}
