import type { Connection } from 'mongoose';

/** What a command works with while it runs. */
export interface CommandContext {
  /** Open, with the models of the service; closed when the command ends. */
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

type Handler<Args extends unknown[]> = (context: CommandContext, ...args: Args) => Promise<void>;

/** Makes commander's action of a command: its arguments, then its options, come after the context. */
export type RunCommand = <Args extends unknown[]>(
  handler: Handler<Args>,
) => (...args: Args) => Promise<void>;

/** The command could not do what was asked: the message on stderr, exit 1. */
export class CommandFailure extends Error {}

/** Columns under a heading, for people. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
  return rows.map((row) => line(row).trimEnd()).join('\n');
}

export function messageOf(error: unknown): string {
  // MongoDB's own words repeat the whole command, with all that was to be written.
  return error instanceof Error
    ? error.message.replace(/ to execute command .*/s, '')
    : String(error);
}

const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Text that came from outside, fit for a terminal: no control, format or separator characters, not endless. */
export function printable(text: string, longest = 200): string {
  const clean = text.replace(UNPRINTABLE, '');
  return clean.length > longest ? `${clean.slice(0, longest)}…` : clean;
}

/** The same for a text of several lines, of any length. */
export function printableLines(text: string): string {
  return text.replace(UNPRINTABLE, (character) => (character === '\n' ? character : ''));
}

/** JSON of ASCII alone: nothing in it is what a terminal could obey. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\x7f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
