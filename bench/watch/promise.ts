import { markdownTable } from '../markdown-table.js';

/** One line of the table: what is promised, what was found. */
export interface Finding {
  readonly promise: string;
  readonly wanted: string;
  readonly found: string;
  /** Undefined: a figure without a promise. */
  readonly holds: boolean | undefined;
}

export function atMost(limit: number, promise: string, value: number, unit = ''): Finding {
  return {
    promise,
    wanted: `≤ ${text(limit)} ${unit}`.trim(),
    found: `${text(value)} ${unit}`.trim(),
    holds: value <= limit,
  };
}

export function atLeast(limit: number, promise: string, value: number, unit = ''): Finding {
  return {
    promise,
    wanted: `≥ ${text(limit)} ${unit}`.trim(),
    found: `${text(value)} ${unit}`.trim(),
    holds: value >= limit,
  };
}

export function exactly(wanted: number, promise: string, value: number): Finding {
  return { promise, wanted: text(wanted), found: text(value), holds: value === wanted };
}

export function note(promise: string, found: string): Finding {
  return { promise, wanted: '', found, holds: undefined };
}

export function findingsTable(findings: readonly Finding[]): string {
  const rows = findings.map(({ promise, wanted, found, holds }) => [
    promise,
    wanted,
    found,
    holds === undefined ? '' : holds ? 'kept' : '**broken**',
  ]);
  return markdownTable(['promise', 'wanted', 'found', ''], rows);
}

function text(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: value < 100 ? 2 : 0 });
}
