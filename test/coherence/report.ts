import type { Tally } from './tally.js';

const COLUMNS = [
  'phase',
  'faults',
  'writes',
  'reads',
  'memory %',
  '304',
  'quiet p99',
  'quiet max',
  'fault p99',
  'fault max',
  'too stale',
  'mixed',
  'keys revoked',
  'let in after',
  '503/504',
  'slowest',
];

/** The results of all phases as a table; times in ms. */
export function table(tallies: ReadonlyMap<string, Tally>): string {
  const rows = [...tallies].map(([phase, tally]) => [
    phase,
    tally.faultCount,
    tally.writes,
    tally.reads,
    ((100 * tally.fromMemory) / tally.reads).toFixed(0),
    tally.notModified,
    tally.staleness('quiet', 0.99).toFixed(0),
    tally.staleness('quiet', 1).toFixed(0),
    tally.staleness('faulty', 0.99).toFixed(0),
    tally.staleness('faulty', 1).toFixed(0),
    tally.tooStale,
    tally.mixed,
    tally.revoked,
    tally.letInAfter,
    tally.refused,
    tally.slowestMs.toFixed(0),
  ]);
  const cells = [COLUMNS, ...rows].map((row) => row.map(String));
  const widths = COLUMNS.map((_, column) =>
    Math.max(...cells.map((row) => row[column]?.length ?? 0)),
  );
  const lines = cells.map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  '),
  );
  return `${lines.join('\n')}\n`;
}
