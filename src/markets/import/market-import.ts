import { CommandFailure, messageOf, printable } from '../../common/command.js';
import type { BatchOutcome, ImportEntry } from './batch-tally.js';
import { BatchWriter } from './batch-writer.js';
import type { Chunks } from './chunks.js';
import { onceMongodbIsThere } from './once-mongodb-is-there.js';
import type { MarketWriter } from './market-writer.js';
import type { Outcome } from './market-plan.js';
import { checkRecord, type Fault } from './market-record.js';
import { readFile } from './read-file.js';
import { parseRecord, readRecords } from './record-reader.js';
import { InputFault, type RawRecord } from './raw-record.js';
import type { Place } from './reject-log.js';

export type ImportReport = Record<'read' | Outcome | 'rejected', number>;

export interface ImportOptions {
  readonly dryRun: boolean;
  /** Whether records are written as they come, and MongoDB is waited for. */
  readonly follow: boolean;
  readonly signal: AbortSignal;
  readonly reject: (place: Place, faults: readonly Fault[]) => Promise<void>;
  readonly progress: (bytes: number, read: number) => void;
  readonly say: (message: string) => Promise<void>;
}

/** One run over some files; `report` and `failures` say at any time how far it came. */
export class MarketImport {
  /** `read` counts the records whose fate is known: it is always the sum of the others. */
  readonly report: ImportReport = { read: 0, inserted: 0, updated: 0, unchanged: 0, rejected: 0 };
  /** Files that could not be read to their end, with the reason. */
  readonly failures: string[] = [];
  private readonly writer: BatchWriter;
  private readonly broken = new AbortController();
  private readonly stop: AbortSignal;
  private bytes = 0;

  constructor(
    private readonly markets: MarketWriter,
    private readonly options: ImportOptions,
  ) {
    this.stop = AbortSignal.any([options.signal, this.broken.signal]);
    this.writer = new BatchWriter({
      write: async (batch) => this.count(await this.write(batch)),
      eager: options.follow,
      failed: (error) => this.broken.abort(error),
    });
  }

  /** @throws when MongoDB can't be used, or the signal says so; what was written stays */
  async run(files: readonly string[]): Promise<void> {
    for (const file of files) {
      try {
        await this.readFile(file);
      } catch (error) {
        if (!this.stop.aborted && !(error instanceof InputFault)) throw error;
        this.broken.signal.throwIfAborted();
        if (!this.options.follow) this.options.signal.throwIfAborted();
        if (error instanceof InputFault) this.failures.push(`${printable(file)}: ${error.message}`);
      }
      await this.writer.flush();
    }
  }

  private async readFile(file: string): Promise<void> {
    for await (const raw of readRecords(this.chunks(file))) {
      if (!this.options.follow) this.stop.throwIfAborted();
      await this.take(file, raw);
    }
  }

  private async take(file: string, { line, bytes }: RawRecord): Promise<void> {
    const { value, fault } = parseRecord(bytes);
    if (fault) return this.reject({ file, line }, [{ field: '', reason: fault }]);
    const { record, faults } = checkRecord(value);
    if (faults) return this.reject({ file, line }, faults);
    await this.writer.add({ file, line, bytes: bytes?.length ?? 0, record });
  }

  private async write(batch: readonly ImportEntry[]): Promise<BatchOutcome> {
    const { dryRun, follow, signal, say } = this.options;
    const write = () => this.markets.write(batch, dryRun);
    try {
      return await (follow ? onceMongodbIsThere(write, signal, say) : write());
    } catch (error) {
      const reason = printable(messageOf(error));
      throw new CommandFailure(`MongoDB can't be used: ${reason}\nThe import can be run again.`);
    }
  }

  private async count({ counts, refused }: BatchOutcome): Promise<void> {
    for (const outcome of ['inserted', 'updated', 'unchanged'] as const) {
      this.report[outcome] += counts[outcome];
      this.report.read += counts[outcome];
    }
    for (const { entry, reason } of refused) await this.reject(entry, [{ field: '', reason }]);
    this.options.progress(this.bytes, this.report.read);
  }

  private async reject(place: Place, faults: readonly Fault[]): Promise<void> {
    this.report.read++;
    this.report.rejected++;
    await this.options.reject(place, faults);
  }

  private async *chunks(file: string): Chunks {
    for await (const chunk of readFile(file, this.stop)) {
      this.bytes += chunk.length;
      yield chunk;
    }
    // When stopped, the last line may be unfinished: throwing keeps it from counting as a record.
    this.stop.throwIfAborted();
  }
}
