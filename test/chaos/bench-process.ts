import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

/** A client of the bench as a process of its own, from what `tsc -p bench/tsconfig.json` has made: it has a core to itself. */
export class BenchProcess {
  private readonly child: ChildProcess;

  constructor(script: string, args: readonly string[] = []) {
    const path = resolve('dist/bench/bench', script);
    if (!existsSync(path)) throw new Error(`${path} is missing: tsc -p bench/tsconfig.json`);
    this.child = fork(path, args);
  }

  send(order: object | string): void {
    this.child.send(order);
  }

  /** Sends an order, and resolves with what comes back. */
  async ask<T>(order: object | string): Promise<T> {
    const answer = once(this.child, 'message');
    this.send(order);
    const [message] = (await answer) as [T];
    return message;
  }

  async stop(): Promise<void> {
    const gone = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await gone;
  }
}
