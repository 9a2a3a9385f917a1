import { expect } from '@jest/globals';
import { appendFileSync } from 'node:fs';
import { RESULTS_VARIABLE, type Fault, type Measurement } from './table.js';

interface Figure {
  readonly seen: string;
  readonly measured: number;
  /** Empty for counts. */
  readonly unit?: 'ms' | 's' | 'MB' | '%';
}

/** Adds rows about one fault to the table, and fails the test where a figure is not what was asked for. */
export function measurementsOf(fault: Fault) {
  return {
    /** A figure with an upper bound. */
    atMost(limit: number, { seen, measured, unit }: Figure): void {
      const ok = measured <= limit;
      add({ fault, seen, asked: `≤ ${format(limit, unit)}`, measured: format(measured, unit), ok });
      expect({ fault, seen, measured }).toEqual({
        fault,
        seen,
        measured: ok ? measured : `≤ ${limit}`,
      });
    },

    /** A figure with a lower bound. */
    atLeast(limit: number, { seen, measured, unit }: Figure): void {
      const ok = measured >= limit;
      add({ fault, seen, asked: `≥ ${format(limit, unit)}`, measured: format(measured, unit), ok });
      expect({ fault, seen, measured }).toEqual({
        fault,
        seen,
        measured: ok ? measured : `≥ ${limit}`,
      });
    },

    /** A value that must be exactly so, such as `503 database_unavailable`. */
    exactly(
      asked: string | number,
      { seen, measured }: { seen: string; measured: string | number },
    ) {
      const ok = measured === asked;
      add({ fault, seen, asked: String(asked), measured: String(measured), ok });
      expect({ fault, seen, measured }).toEqual({ fault, seen, measured: asked });
    },

    /** A figure that nobody asked for, but should know. */
    note({ seen, measured, unit }: Figure): void {
      add({ fault, seen, asked: '–', measured: format(measured, unit), ok: true });
    },
  };
}

function add(measurement: Measurement): void {
  const file = process.env[RESULTS_VARIABLE];
  if (!file) throw new Error(`${RESULTS_VARIABLE} is not set: run the tests by npm run test:chaos`);
  appendFileSync(file, `${JSON.stringify(measurement)}\n`);
}

function format(value: number, unit = ''): string {
  const digits =
    Number.isInteger(value) || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const text = value.toLocaleString('en', { maximumFractionDigits: digits });
  return unit === '' || unit === '%' ? text + unit : `${text} ${unit}`;
}
