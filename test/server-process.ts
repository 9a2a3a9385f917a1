import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { settings } from '../src/config.js';
import { until } from './until.js';

export type Environment = Readonly<Record<string, string>>;

export interface ServerOptions {
  /** Arguments for Node.js itself, such as `--import`. */
  readonly nodeArgs?: readonly string[];
  /** Arguments for the server. */
  readonly args?: readonly string[];
  /** A key that its MongoDB has, or will have. */
  readonly key?: string;
}

const PROGRAM = resolve('dist/main.js');

/** The service as it is run: a process of its own, from what `npm run build` has made. It ends with ours. */
export class ServerProcess {
  /** What it wrote, line by line. */
  readonly stdout: string[] = [];
  readonly stderr: string[] = [];
  /** Its exit code, once it has ended and all it wrote is read; null after a signal. */
  readonly exited: Promise<number | null>;
  readonly pid: number;
  port = 0;

  private constructor(
    private readonly child: ReturnType<typeof spawnProgram>,
    readonly key: string,
  ) {
    this.pid = child.pid ?? 0;
    this.exited = once(child, 'close').then(([code]: (number | null)[]) => code ?? null);
    createInterface({ input: child.stdout }).on('line', (line) => {
      this.stdout.push(line);
      this.port ||= Number(/Listening on \S+:(\d+), version \d/.exec(line)?.[1] ?? 0);
    });
    createInterface({ input: child.stderr }).on('line', (line) => this.stderr.push(line));
    const endWithUs = () => child.kill('SIGKILL');
    process.once('exit', endWithUs);
    child.once('close', () => process.removeListener('exit', endWithUs));
  }

  /**
   * Starts the program, whatever comes of it.
   * @param env settings beside HOST and PORT; those of the environment are kept from it
   */
  static spawn(env: Environment, { nodeArgs, args, key = '' }: ServerOptions = {}): ServerProcess {
    return new ServerProcess(spawnProgram(env, nodeArgs, args), key);
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Resolves when it listens. */
  async listening(): Promise<this> {
    await until(() => this.port > 0 || this.hasEnded);
    if (this.port > 0) return this;
    const code = await this.exited;
    const said = [...this.stderr, ...this.stdout].join('\n');
    throw new Error(`The service ended with ${code}: ${said}`);
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Ends it, paused or not; resolves when it is gone. */
  async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.child.kill('SIGCONT');
    this.child.kill(signal);
    await this.exited;
  }
}

/** Starts the service; resolves when it listens, on a free port of loopback. */
export function startServer(env: Environment, options?: ServerOptions): Promise<ServerProcess> {
  return ServerProcess.spawn(env, options).listening();
}

export function spawnProgram(
  env: Environment,
  nodeArgs: readonly string[] = [],
  args: readonly string[] = [],
) {
  if (!existsSync(PROGRAM)) throw new Error(`${PROGRAM} is missing: npm run build`);
  const unset = Object.fromEntries(settings.map(({ variable }) => [variable, '']));
  const own = { HOST: '127.0.0.1', PORT: '0', LOG_FORMAT: 'json' };
  return spawn(process.execPath, [...nodeArgs, PROGRAM, ...args], {
    // Where no `.env` is.
    cwd: tmpdir(),
    env: { ...process.env, ...unset, ...own, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}
