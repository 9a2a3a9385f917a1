import { createReadStream, fstatSync, statSync } from 'node:fs';
import { addAbortSignal, type Readable } from 'node:stream';
import { CommandFailure, messageOf, printable } from '../../common/command.js';
import { checkRecord, type Fault } from './market-record.js';
import type { ImportEntry, MarketImporter } from './market-importer.js';
import type { Outcome } from './market-plan.js';
import { parseRecord, readRecords } from './record-reader.js';
import { InputFault, type RawRecord } from './record-splitter.js';
import type { Place } from './reject-log.js';

export type ImportReport = Record<'read' | Outcome | 'rejected', number>;

export interface ImportOptions {
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
  readonly reject: (place: Place, faults: readonly Fault[]) => Promise<void>;
  readonly progress: (bytes: number, read: number) => void;
}

/** The name of the standard input. */
export const STDIN = '-';

const BATCH_RECORDS = 1_000;
const BATCH_BYTES = 4 * 1024 * 1024;

/** One run over some files; `report` and `failures` say at any time how far it came. */
export class MarketImport {
  /** `read` counts the records whose fate is known: it is always the sum of the others. */
  readonly report: ImportReport = { read: 0, inserted: 0, updated: 0, unchanged: 0, rejected: 0 };
  /** Files that could not be read to their end, with the reason. */
  readonly failures: string[] = [];
  private batch: ImportEntry[] = [];
  private batchBytes = 0;
  private bytes = 0;

  constructor(
    private readonly importer: MarketImporter,
    private readonly options: ImportOptions,
  ) {}

  /** @throws when MongoDB can't be used, or the signal says so; what was written stays */
  async run(files: readonly string[]): Promise<void> {
    for (const file of files) {
      try {
        await this.readFile(file);
      } catch (error) {
        this.options.signal.throwIfAborted();
        if (!(error instanceof InputFault)) throw error;
        this.failures.push(`${file}: ${error.message}`);
      }
      await this.flush();
    }
  }

  private async readFile(file: string): Promise<void> {
    for await (const raw of readRecords(this.chunks(file))) {
      this.options.signal.throwIfAborted();
      await this.take(file, raw);
      if (this.batch.length >= BATCH_RECORDS || this.batchBytes >= BATCH_BYTES) await this.flush();
    }
  }

  private async take(file: string, { line, bytes }: RawRecord): Promise<void> {
    const { value, fault } = parseRecord(bytes);
    if (fault) return this.reject({ file, line }, [{ field: '', reason: fault }]);
    const { record, faults } = checkRecord(value);
    if (faults) return this.reject({ file, line }, faults);
    const length = bytes?.length ?? 0;
    this.batch.push({ file, line, bytes: length, record });
    this.batchBytes += length;
  }

  private async flush(): Promise<void> {
    const { batch } = this;
    this.batch = [];
    this.batchBytes = 0;
    if (batch.length > 0) {
      const results = await this.importer.write(batch, this.options.dryRun).catch(unusable);
      for (const result of results) {
        if (result.outcome === 'rejected') {
          await this.reject(result.entry, [{ field: '', reason: result.reason }]);
          continue;
        }
        this.report.read++;
        this.report[result.outcome]++;
      }
    }
    this.options.progress(this.bytes, this.report.read);
  }

  private async reject(place: Place, faults: readonly Fault[]): Promise<void> {
    this.report.read++;
    this.report.rejected++;
    await this.options.reject(place, faults);
  }

  private async *chunks(file: string): AsyncIterable<Buffer> {
    const stream: Readable = file === STDIN ? process.stdin : createReadStream(file);
    const chunks: AsyncIterable<Buffer> = addAbortSignal(this.options.signal, stream);
    try {
      for await (const chunk of chunks) {
        this.bytes += chunk.length;
        yield chunk;
      }
    } catch (error) {
      throw new InputFault(`can't be read: ${messageOf(error)}`);
    }
  }
}

function unusable(error: unknown): never {
  const reason = printable(messageOf(error));
  throw new CommandFailure(`MongoDB can't be used: ${reason}\nThe import can be run again.`);
}

/** The length of all files together in bytes; 0 when one of them has none to tell. */
export function totalBytes(files: readonly string[]): number {
  let total = 0;
  for (const file of files) {
    try {
      const stats = file === STDIN ? fstatSync(process.stdin.fd) : statSync(file);
      if (!stats.isFile()) return 0;
      total += stats.size;
    } catch {
      return 0;
    }
  }
  return total;
}
