import type { Connection } from 'mongoose';

/** What a command works with while it runs. */
export interface CommandContext {
  /** Open, with the model of the markets; closed when the command ends. */
  readonly connection: Connection;
  /** Whether collections and indexes may be made. */
  readonly dbInit: boolean;
  /** Aborted by SIGINT and SIGTERM. */
  readonly signal: AbortSignal;
  /** The one result on stdout: the text or, with `--json`, the JSON document. */
  readonly print: (result: Result) => Promise<void>;
  /** Like `print`, but fails when the result can't reach anybody, or the signal comes first. */
  readonly deliver: (result: Result) => Promise<void>;
  /** A message on stderr. Resolves when it is written, so that a slow reader misses none. */
  readonly say: (message: string) => Promise<void>;
}

/** What a command prints for people, and for programs. */
export interface Result {
  readonly json: unknown;
  readonly text: string;
}

/**
 * Makes commander's action out of a handler, which gets the context, then the command's arguments and options. An error
 * that it throws is a message on stderr, and exit 1.
 */
export type RunCommand = <Args extends unknown[]>(
  handler: (context: CommandContext, ...args: Args) => Promise<void>,
) => (...args: Args) => Promise<void>;

/** Columns under a heading, for people. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    rows.reduce((width, row) => Math.max(width, row[column]?.length ?? 0), 0),
  );
  const line = (row: readonly string[]) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
  return rows.map((row) => line(row).trimEnd()).join('\n');
}
