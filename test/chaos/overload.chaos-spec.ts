import { expect, it, jest } from '@jest/globals';
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import type { OverloadResult } from '../../bench/overload.js';
import { measurementsOf } from './measurements.js';

const rows = measurementsOf('too many requests');

// Four minutes of load, and more between on a slow machine.
jest.setTimeout(480_000);

it('serves what can be served, and refuses the rest at once', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    resolve('dist/bench/bench/overload.js'),
  ]);
  const results = JSON.parse(stdout) as OverloadResult[];
  expect(results.length).toBeGreaterThan(0);
  for (const result of results) tellLoad(result);
  for (const result of results) tellAnswers(result);
});

const percentOf = (share: number) => ({ measured: 100 * share, unit: '%' }) as const;

function tellLoad({ name, peak, due, sent, lost, slowestProbe }: OverloadResult): void {
  rows.note({ seen: `${name}: peak, requests/s`, measured: peak });
  rows.note({ seen: `${name}: asked for, × peak`, measured: due });
  rows.note({ seen: `${name}: sent, × peak`, measured: sent });
  rows.note({ seen: `${name}: without an answer`, measured: lost });
  rows.note({ seen: `${name}: slowest probe`, measured: slowestProbe, unit: 'ms' });
}

function tellAnswers(result: OverloadResult): void {
  const { name, goodput, goodputAsked, goodputByCpu, refused, refusedProbes, served } = result;
  rows.atLeast(100 * goodputAsked, { seen: `${name}: goodput`, ...percentOf(goodput) });
  rows.note({ seen: `${name}: goodput by CPU time`, ...percentOf(goodputByCpu) });
  if (refused.count > 0) tellRefusals(result);
  rows.atMost(2_000, { seen: `${name}: 200, p99`, measured: served.p99, unit: 'ms' });
  rows.exactly(0, { seen: `${name}: probes refused`, measured: refusedProbes });
}

function tellRefusals({ name, refused, served }: OverloadResult): void {
  const share = refused.count / (refused.count + served.count);
  rows.note({ seen: `${name}: refused, of all answers`, ...percentOf(share) });
  rows.note({ seen: `${name}: 503, p50`, measured: refused.p50, unit: 'ms' });
  rows.note({ seen: `${name}: 503, p99`, measured: refused.p99, unit: 'ms' });
}
