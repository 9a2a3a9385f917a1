import { markdownTable } from '../../bench/markdown-table.js';

/** Every fault, in the order of the table. */
const FAULTS = [
  'MongoDB away at boot',
  'mongod killed and restarted',
  'mongod hangs (SIGSTOP)',
  'network black hole',
  'slow link',
  'slow query',
  'pool exhausted',
  'too many requests',
  'primary steps down',
  'primary is killed',
  'SIGTERM under load',
  'rolling restart',
  'half-open, dripping, slow sockets',
  'import killed',
  'feed followed',
  'disk full',
  'clock jump',
  'bad URI or password',
  'unhandled rejection',
] as const;

export type Fault = (typeof FAULTS)[number];

/** A row of the table. */
export interface Measurement {
  readonly fault: Fault;
  /** What a client, or the operator, sees. */
  readonly seen: string;
  readonly asked: string;
  readonly measured: string;
  readonly ok: boolean;
}

/** Names the file that the rows are collected in while tests run. */
export const RESULTS_VARIABLE = 'CHAOS_RESULTS';

const HEAD = ['fault', 'what a client sees', 'asked', 'measured', 'ok'];

/** All rows as Markdown, in the order of the faults, each of which is named once. */
export function table(measurements: readonly Measurement[]): string {
  const sorted = FAULTS.flatMap((fault) => measurements.filter((row) => row.fault === fault));
  const cells = sorted.map(({ fault, seen, asked, measured, ok }, index) => [
    sorted[index - 1]?.fault === fault ? '' : fault,
    seen,
    asked,
    measured,
    ok ? 'yes' : 'NO',
  ]);
  return markdownTable(HEAD, cells);
}
