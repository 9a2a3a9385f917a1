import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { order } from '../../bench/orders.js';

/** A client of the bench as a process of its own, from what `tsc -p bench/tsconfig.json` has made: it has a core to itself. */
export class BenchProcess {
  private readonly child: ChildProcess;

  constructor(script: string, args: readonly string[] = []) {
    const path = resolve('dist/bench/bench', script);
    if (!existsSync(path)) throw new Error(`${path} is missing: tsc -p bench/tsconfig.json`);
    this.child = fork(path, args);
  }

  /** Gives it an order; resolves with its result. */
  ask<Result>(what: object | string): Promise<Result> {
    return order(this.child, what);
  }

  async stop(): Promise<void> {
    const gone = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await gone;
  }
}
