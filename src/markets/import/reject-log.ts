import { createWriteStream, type WriteStream } from 'node:fs';
import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import { CommandFailure, printable } from '../../common/command.js';
import type { Fault } from './market-record.js';

/** Where a record stands. */
export interface Place {
  readonly file: string;
  readonly line: number;
}

/** Tells what was rejected and why: people on stderr, programs in a file of NDJSON. */
export class RejectLog {
  private readonly stream: WriteStream | undefined;
  private failure: Error | undefined;

  constructor(
    private readonly path: string | undefined,
    private readonly say: (message: string) => void,
  ) {
    if (path === undefined) return;
    this.stream = createWriteStream(path);
    this.stream.on('error', (error) => {
      this.failure = error;
    });
  }

  /** @throws CommandFailure when the file can't be made */
  async open(): Promise<void> {
    if (this.stream?.pending) await once(this.stream, 'open').catch(() => undefined);
    this.throwFailure();
  }

  async add({ file, line }: Place, faults: readonly Fault[]): Promise<void> {
    for (const fault of faults) {
      const field = printable(fault.field);
      const reason = printable(fault.reason, 500);
      this.say([`${printable(file)}:${line}`, ...(field ? [field] : []), reason].join(': '));
      await this.write({ file, line, field, reason });
    }
  }

  async close(): Promise<void> {
    if (!this.stream) return;
    this.stream.end();
    await finished(this.stream).catch(() => undefined);
    this.throwFailure();
  }

  private async write(reject: Place & Fault): Promise<void> {
    const { stream } = this;
    if (!stream) return;
    const isFull = !stream.write(`${JSON.stringify(reject)}\n`);
    if (isFull && !this.failure) await once(stream, 'drain').catch(() => undefined);
    this.throwFailure();
  }

  private throwFailure(): void {
    if (!this.failure) return;
    throw new CommandFailure(`${this.path} can't be written: ${this.failure.message}`);
  }
}
