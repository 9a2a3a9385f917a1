import type { INestApplicationContext } from '@nestjs/common';
import { InvalidArgumentError } from 'commander';
import { MongoServerError } from 'mongodb';

/** What a command works with while it runs. */
export interface CommandContext {
  /** The application without its HTTP server: `app.get(SomeService)`. Closed when the command ends. */
  readonly app: INestApplicationContext;
  /** Aborted by SIGINT and SIGTERM. */
  readonly signal: AbortSignal;
  /** The one result on stdout: the text or, with `--json`, the JSON document. */
  readonly print: (result: { readonly json: unknown; readonly text: string }) => void;
  /** A message on stderr. */
  readonly say: (message: string) => void;
}

type Handler<Args extends unknown[]> = (context: CommandContext, ...args: Args) => Promise<void>;

/** Makes commander's action of a command: its arguments, then its options, come after the context. */
export type RunCommand = <Args extends unknown[]>(
  handler: Handler<Args>,
) => (...args: Args) => Promise<void>;

/** The command could not do what was asked: the message on stderr, exit 1. */
export class CommandFailure extends Error {}

/** What was asked makes no sense: the message on stderr, exit 2. */
export class UsageFault extends Error {}

const DAY_SECONDS = 86_400;
const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: DAY_SECONDS };
const LONGEST_DAYS = 36_500;

/** An option such as `90d`, in milliseconds. */
export function parseDuration(text: string): number {
  const [, digits = '', unit = ''] = /^(\d{1,15})([smhd])$/.exec(text) ?? [];
  const seconds = Number(digits) * (UNIT_SECONDS[unit] ?? 0);
  if (seconds > 0 && seconds <= LONGEST_DAYS * DAY_SECONDS) return seconds * 1000;
  throw new InvalidArgumentError(
    `It must be a whole number above 0 with s, m, h or d, such as 90d; ${LONGEST_DAYS}d at most.`,
  );
}

/** An option that is a whole number in decimal digits. */
export function parseWholeNumber(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number, 0 or more.');
}

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
  if (error instanceof MongoServerError)
    return error.message.replace(/ to execute command .*/s, '');
  return error instanceof Error ? error.message : String(error);
}

/** Text that came from outside, fit for a terminal: no control, format or separator characters, not endless. */
export function printable(text: string, longest = 200): string {
  const clean = text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '');
  return clean.length > longest ? `${clean.slice(0, longest)}…` : clean;
}
