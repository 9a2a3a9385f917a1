import { setImmediate } from 'node:timers/promises';
import type { MarketRecord } from './market-record.js';
import type { Place } from './reject-log.js';

const BATCH_RECORDS = 1_000;
const BATCH_BYTES = 4 * 1024 * 1024;

/** A record that passed the check, with its place and its length in the input. */
export interface ImportEntry extends Place {
  readonly bytes: number;
  readonly record: MarketRecord;
}

/** Gathers records into batches and has them written. When a batch is full, `add` waits until it is written. */
export class RecordBatches {
  private batch: ImportEntry[] = [];
  private bytes = 0;
  private writing: Promise<void> | undefined;
  private readonly failure = new AbortController();
  /** Aborted when a write has failed; `flush` throws its reason as well. */
  readonly failed = this.failure.signal;

  /** @param isEager whether to write at once what has come, in place of waiting until a batch is full */
  constructor(
    private readonly write: (batch: readonly ImportEntry[]) => Promise<void>,
    private readonly isEager: boolean,
  ) {}

  /** Resolves when there is room for another record. */
  async add(entry: ImportEntry): Promise<void> {
    this.batch.push(entry);
    this.bytes += entry.bytes;
    if (this.batch.length >= BATCH_RECORDS || this.bytes >= BATCH_BYTES) await this.flush();
    else if (this.isEager) this.start();
  }

  /** Resolves when all is written. @throws when it can't be */
  async flush(): Promise<void> {
    this.start();
    await this.writing;
  }

  private start(): void {
    if (this.writing) return;
    this.writing = this.writeAll();
    this.writing.catch((error: unknown) => this.failure.abort(error));
  }

  private async writeAll(): Promise<void> {
    // Records that arrive in one turn of the event loop are written together.
    await setImmediate();
    while (this.batch.length > 0) {
      const { batch } = this;
      this.batch = [];
      this.bytes = 0;
      await this.write(batch);
    }
    this.writing = undefined;
  }
}
