import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { MongodFailed } from './mongod-failed.js';

export interface MongodOptions {
  readonly program: string;
  readonly dbPath: string;
  readonly port: number;
  /** Name of the replica set that it is to be part of; without: a standalone server. */
  readonly replicaSet?: string;
  /** More arguments for mongod. */
  readonly args?: readonly string[];
}

/** How long mongod may take until it takes connections, in ms; recovering a large data path takes a while. */
const START_TIMEOUT_MS = 45_000;
/** How long a mongod that was told to end may take, in ms. */
const STOP_TIMEOUT_MS = 5_000;

/**
 * Runs mongod and kills it when the pipe from the starting process closes: however that one dies, its
 * mongod goes with it. It prints mongod's process id on a line of its own. A group and session of its own keep
 * a terminal's Ctrl-C from mongod, whose users finish first.
 */
const GUARD = `
  exec 3<&0 </dev/null 2>&1
  "$@" 3<&- & mongod=$!
  echo "$mongod"
  exec >&- 2>&-
  read -r _ <&3
  kill -9 "$mongod"
  wait`;

type Guard = ChildProcessByStdio<Writable, Readable, null>;

/** A mongod on 127.0.0.1 that ends when this process does. */
export class MongodProcess {
  private constructor(
    private readonly guard: Guard,
    readonly pid: number,
    /** Resolves when the process is gone, for whatever reason. */
    readonly gone: Promise<unknown>,
  ) {}

  /**
   * Starts mongod; resolves when it takes connections.
   * @throws MongodFailed
   */
  static async start(options: MongodOptions): Promise<MongodProcess> {
    const args = ['-c', GUARD, 'mongod-guard', options.program, ...mongodArguments(options)];
    const guard = spawn('/bin/sh', args, { detached: true, stdio: ['pipe', 'pipe', 'ignore'] });
    guard.stdin.on('error', () => undefined);
    const gone = once(guard, 'close');
    const log: string[] = [];
    const timeout = setTimeout(() => {
      log.push(`not up within ${START_TIMEOUT_MS / 1000} s`);
      guard.stdin.end();
    }, START_TIMEOUT_MS);
    let pid = 0;
    let isUp = false;
    guard.stdout.once('end', () => guard.stdin.end());
    guard.once('exit', () => killIfAlive(pid));
    try {
      for await (const line of createInterface({ input: guard.stdout })) {
        if (/^\d+$/.test(line)) pid = Number(line);
        else log.push(line);
        isUp ||= line.includes('"Waiting for connections"');
        // Guard and mongod write side by side: either line may come first.
        if (isUp && pid > 0) return new MongodProcess(guard, pid, gone);
      }
    } finally {
      clearTimeout(timeout);
    }
    await gone;
    throw new MongodFailed(log);
  }

  /** Ends mongod, cleanly if it can within seconds; resolves when it is gone. */
  async stop(): Promise<void> {
    // SIGTERM only while the guard runs: before it has ended, the process id belongs to nobody else.
    if (this.guard.exitCode === null && this.guard.signalCode === null) {
      killIfAlive(this.pid, 'SIGTERM');
    }
    const timeout = setTimeout(() => this.guard.stdin.end(), STOP_TIMEOUT_MS);
    await this.gone;
    clearTimeout(timeout);
  }

  /** Ends mongod at once, even a paused one; resolves when it is gone. */
  async kill(): Promise<void> {
    this.guard.stdin.end();
    await this.gone;
  }
}

function killIfAlive(pid: number, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    if (pid > 0) process.kill(pid, signal);
  } catch {
    // The process is gone already.
  }
}

function mongodArguments({ dbPath, port, replicaSet, args = [] }: MongodOptions): string[] {
  return [
    `--dbpath=${dbPath}`,
    `--port=${port}`,
    '--bind_ip=127.0.0.1',
    '--nounixsocket',
    // zlib compression in 6.0.5 has a known hole, and nothing is gained on loopback.
    '--networkMessageCompressors=disabled',
    '--wiredTigerCacheSizeGB=0.25',
    '--setParameter=diagnosticDataCollectionEnabled=false',
    ...(replicaSet ? [`--replSet=${replicaSet}`, '--oplogSize=200'] : []),
    ...args,
  ];
}
