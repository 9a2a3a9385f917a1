import { afterEach, expect } from '@jest/globals';
import { appendFileSync } from 'node:fs';
import { RESULTS_VARIABLE, type Fault, type Measurement } from './table.js';

interface Figure {
  readonly seen: string;
  readonly measured: number;
  /** None for counts. */
  readonly unit?: 'ms' | 's' | 'MB' | '%';
}

/**
 * Adds rows about one fault to the table. A figure that is not what was asked for fails the test when it has
 * ended, so that the others are measured nevertheless.
 */
export function measurementsOf(fault: Fault) {
  const missed: Measurement[] = [];

  afterEach(() => {
    expect(missed.splice(0)).toEqual([]);
  });

  const add = (measurement: Omit<Measurement, 'fault'>, mayMiss = false) => {
    const file = process.env[RESULTS_VARIABLE];
    if (!file)
      throw new Error(`${RESULTS_VARIABLE} is not set: run the tests by npm run test:chaos`);
    const row = { fault, ...measurement };
    appendFileSync(file, `${JSON.stringify(row)}\n`);
    if (!row.ok && !mayMiss) missed.push(row);
  };

  return {
    /** A figure with an upper bound. */
    atMost(limit: number, { seen, measured, unit }: Figure): void {
      const asked = `≤ ${format(limit, unit)}`;
      add({ seen, asked, measured: format(measured, unit), ok: measured <= limit });
    },

    /**
     * A figure with an upper bound that the platform itself may not reach: a miss is told, but fails the test
     * only beyond another one.
     *
     * @param possible made of what was measured beside it, of something that does nothing else
     */
    atMostIfPossible(limit: number, possible: number, { seen, measured, unit }: Figure): void {
      const asked = `≤ ${format(limit, unit)}`;
      const row = { seen, asked, measured: format(measured, unit), ok: measured <= limit };
      add(row, measured <= possible);
    },

    /** A figure with a lower bound. */
    atLeast(limit: number, { seen, measured, unit }: Figure): void {
      const asked = `≥ ${format(limit, unit)}`;
      add({ seen, asked, measured: format(measured, unit), ok: measured >= limit });
    },

    /** What must be exactly so, such as `503 database_unavailable` or 0. */
    exactly<T extends string | number>(
      asked: T,
      { seen, measured }: { seen: string; measured: T },
    ) {
      add({ seen, asked: String(asked), measured: String(measured), ok: measured === asked });
    },

    /** A figure that nobody asked for, but should know. */
    note({ seen, measured, unit }: Figure): void {
      add({ seen, asked: '–', measured: format(measured, unit), ok: true });
    },
  };
}

/** With as many digits as tell something. */
function format(value: number, unit: string = ''): string {
  const digits =
    Number.isInteger(value) || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const text = value.toLocaleString('en', { maximumFractionDigits: digits });
  return unit === '' || unit === '%' ? text + unit : `${text} ${unit}`;
}
