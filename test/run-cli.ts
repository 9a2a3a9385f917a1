import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { settings } from '../src/config.js';

const CLI = fileURLToPath(new URL('../dist/cli.js', import.meta.url));

export interface CliOptions {
  /** Settings; those of the environment are kept from the command. */
  readonly env?: Readonly<Record<string, string>>;
  /** What comes in on stdin. */
  readonly input?: string | Uint8Array;
  /** Working directory; a `.env` there is read. */
  readonly cwd?: string;
}

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function environmentOf({ env = {}, cwd = tmpdir() }: CliOptions) {
  const unset = Object.fromEntries(settings.map(({ variable }) => [variable, '']));
  return { cwd, env: { ...process.env, NODE_ENV: 'test', ...unset, ...env } };
}

/** Starts a command as a process of its own, stdin open. */
export function startCli(
  args: readonly string[],
  options: CliOptions = {},
): ChildProcessWithoutNullStreams {
  const child = spawn(process.execPath, [CLI, ...args], environmentOf(options));
  // A command that ends early leaves its input unread.
  child.stdin.on('error', () => undefined);
  return child;
}

/** Runs a command to its end. */
export async function runCli(
  args: readonly string[],
  options: CliOptions = {},
): Promise<CliResult> {
  const child = startCli(args, options);
  child.stdin.end(options.input ?? '');
  return resultOf(child);
}

/** Starts a line of bash in which `markets` is the command line, and `MARKETS` what can be executed in its place. */
export function startShell(line: string, options: CliOptions = {}): ChildProcessWithoutNullStreams {
  const program = 'MARKETS=("$0" "$1"); markets() { "${MARKETS[@]}" "$@"; }';
  const child = spawn(
    'bash',
    ['-c', `${program}; set -o pipefail; ${line}`, process.execPath, CLI],
    environmentOf(options),
  );
  child.stdin.on('error', () => undefined).end(options.input ?? '');
  return child;
}

/** Runs such a line to its end. */
export async function runShell(line: string, options: CliOptions = {}): Promise<CliResult> {
  return resultOf(startShell(line, options));
}

/** What a started command comes to. */
export async function resultOf(child: ChildProcessWithoutNullStreams): Promise<CliResult> {
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close').then(([exitCode]: (number | null)[]) => exitCode ?? null),
  ]);
  return { code, stdout, stderr };
}
