import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { redact } from '../../common/redact.js';
import { messageOf, printable } from '../../common/text.js';
import type { Fault } from './market-record.js';
import { openForWriting } from './files.js';
import type { ImportProgress } from './import-progress.js';

/** Where a record stands. */
export interface Place {
  readonly file: string;
  readonly line: number;
}

/** Tells what was rejected and why: people on stderr, programs in a file of NDJSON. */
export class RejectLog {
  private stream: Writable | undefined;

  constructor(
    private readonly path: string | undefined,
    private readonly progress: ImportProgress,
  ) {}

  /** @throws Error when the file can't be made */
  open(): void {
    if (this.path === undefined) return;
    try {
      // `add` and `close` handle the failure.
      this.stream = openForWriting(this.path).on('error', () => undefined);
    } catch (error) {
      throw this.failure(error);
    }
  }

  async add({ file, line }: Place, faults: readonly Fault[]): Promise<void> {
    const told = faults.map((fault) => ({
      file,
      line,
      field: redact(printable(fault.field)),
      reason: redact(printable(fault.reason, 500)),
    }));
    await this.progress.say(told.map(lineOf).join('\n'));
    const { stream } = this;
    if (!stream) return;
    const text = told.map((reject) => `${JSON.stringify(reject)}\n`).join('');
    await new Promise<void>((resolve, reject) => {
      stream.write(text, (error) => (error ? reject(this.failure(error)) : resolve()));
    });
  }

  async close(): Promise<void> {
    if (!this.stream) return;
    await finished(this.stream.end()).catch((error: unknown) => {
      throw this.failure(error);
    });
  }

  private failure(error: unknown): Error {
    const reason = printable(messageOf(error));
    return new Error(`${printable(this.path ?? '')} can't be written: ${reason}`);
  }
}

function lineOf({ file, line, field, reason }: Place & Fault): string {
  return [`${printable(file)}:${line}`, ...(field ? [field] : []), reason].join(': ');
}
