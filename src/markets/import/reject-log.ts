import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { CommandFailure, messageOf, printable } from '../../common/command.js';
import type { Fault } from './market-record.js';
import { openForWriting } from './open-file.js';

/** Where a record stands. */
export interface Place {
  readonly file: string;
  readonly line: number;
}

/** Tells what was rejected and why: people on stderr, programs in a file of NDJSON. */
export class RejectLog {
  private stream: Writable | undefined;
  private failure: unknown;

  constructor(
    private readonly path: string | undefined,
    private readonly say: (message: string) => Promise<void>,
  ) {}

  /** @throws CommandFailure when the file can't be made */
  open(): void {
    if (this.path === undefined) return;
    try {
      this.stream = openForWriting(this.path);
      this.stream.on('error', (error) => {
        this.failure = error;
      });
    } catch (error) {
      this.failure = error;
    }
    this.throwFailure();
  }

  async add({ file, line }: Place, faults: readonly Fault[]): Promise<void> {
    const told = faults.map((fault) => ({
      file,
      line,
      field: printable(fault.field),
      reason: printable(fault.reason, 500),
    }));
    await this.say(told.map(lineOf).join('\n'));
    await this.write(told.map((reject) => `${JSON.stringify(reject)}\n`).join(''));
  }

  async close(): Promise<void> {
    if (!this.stream) return;
    this.stream.end();
    await finished(this.stream).catch(() => undefined);
    this.throwFailure();
  }

  private async write(text: string): Promise<void> {
    const { stream } = this;
    if (!stream) return;
    const isFull = !stream.write(text);
    if (isFull && !this.failure) await once(stream, 'drain').catch(() => undefined);
    this.throwFailure();
  }

  private throwFailure(): void {
    if (this.failure === undefined) return;
    const reason = printable(messageOf(this.failure));
    throw new CommandFailure(`${printable(this.path ?? '')} can't be written: ${reason}`);
  }
}

function lineOf({ file, line, field, reason }: Place & Fault): string {
  return [`${printable(file)}:${line}`, ...(field ? [field] : []), reason].join(': ');
}
