import { setTimeout as delay } from 'node:timers/promises';
import { tellIfSlow } from '../../common/tell-if-slow.js';
import { messageOf, printable } from '../../common/text.js';
import { RecordBatches, type ImportEntry } from './record-batches.js';
import { openForReading } from './files.js';
import type { BatchTally } from './market-writer.js';
import { checkRecord, type Fault } from './market-record.js';
import type { ImportProgress } from './import-progress.js';
import { parseRecord, readRecords } from './record-reader.js';
import { InputFault, type RawRecord } from './raw-record.js';
import { readUntil, type Chunks } from './read-until.js';
import type { Place, RejectLog } from './reject-log.js';
import { isTooLarge } from './stored-markets.js';

/** How late a signal may be told that came just before the end of a feed. Milliseconds. */
const SIGNAL_WITHIN_MS = 50;

/** Why an import ends before its files do. */
export function importFailure(reason: string, cause?: unknown): Error {
  const message = `MongoDB can't be used: ${printable(reason)}\nThe import can be run again.`;
  return new Error(message, { cause });
}

/** One run over some files; `report` and `failures` say at any time how far it came. */
export class MarketImport {
  /** `read` counts the records whose outcome is known: it is always the sum of the others. */
  readonly report = { read: 0, inserted: 0, updated: 0, unchanged: 0, rejected: 0 };
  /** Files that could not be read to their end, with the reason. */
  readonly failures: string[] = [];
  private readonly batches = new RecordBatches(
    async (batch) => this.count(await this.writeOrFail(batch)),
    this.follow,
  );
  private readonly stop = AbortSignal.any([this.signal, this.batches.failed]);
  private bytes = 0;

  /**
   * @param write writes a batch, and throws when MongoDB can't be used
   * @param follow whether records are written as they come
   */
  constructor(
    private readonly write: (batch: readonly ImportEntry[]) => Promise<BatchTally>,
    private readonly rejects: RejectLog,
    private readonly progress: ImportProgress,
    private readonly signal: AbortSignal,
    private readonly follow: boolean,
  ) {}

  /** @throws when MongoDB can't be used, or the signal says so; what was written stays */
  async run(files: readonly string[]): Promise<void> {
    for (const file of files) {
      const fault: unknown = await this.readFile(file).catch((error: unknown) => error);
      await this.batches.flush();
      const endsFeed = this.follow && fault === this.signal.reason;
      if (fault instanceof InputFault) this.failures.push(`${printable(file)}: ${fault.message}`);
      else if (fault !== undefined && !endsFeed) throw fault;
    }
  }

  private async readFile(file: string): Promise<void> {
    for await (const raw of readRecords(this.chunks(file))) {
      if (!this.follow) this.stop.throwIfAborted();
      await this.take(file, raw);
    }
  }

  private async *chunks(file: string): Chunks {
    try {
      for await (const chunk of readUntil(openForReading(file), this.stop)) {
        this.bytes += chunk.length;
        yield chunk;
      }
    } catch (error) {
      throw new InputFault(`can't be read: ${printable(messageOf(error))}`);
    }
    if (this.follow) await delay(SIGNAL_WITHIN_MS);
    // When stopped, the last line may be unfinished: throwing keeps it from counting as a record.
    this.stop.throwIfAborted();
  }

  private async take(file: string, { line, bytes }: RawRecord): Promise<void> {
    const { value, fault } = parseRecord(bytes);
    if (fault) return this.reject({ file, line }, [{ field: '', reason: fault }]);
    const { record, faults } = checkRecord(value);
    if (faults) return this.reject({ file, line }, faults);
    const size = bytes?.length ?? 0;
    if (isTooLarge(record, size)) {
      const reason = 'makes a write above the 16 MiB of MongoDB';
      return this.reject({ file, line }, [{ field: '', reason }]);
    }
    await this.batches.add({ file, line, bytes: size, record });
  }

  private async writeOrFail(batch: readonly ImportEntry[]): Promise<BatchTally> {
    try {
      return await tellIfSlow(
        () => this.write(batch),
        (message) => this.progress.say(message),
      );
    } catch (error) {
      throw importFailure(messageOf(error), error);
    }
  }

  private async count({ counts, refused }: BatchTally): Promise<void> {
    for (const outcome of ['inserted', 'updated', 'unchanged'] as const) {
      this.report[outcome] += counts[outcome];
      this.report.read += counts[outcome];
    }
    for (const { entry, reason } of refused) await this.reject(entry, [{ field: '', reason }]);
    this.progress.update(this.bytes, this.report.read);
  }

  private async reject(place: Place, faults: readonly Fault[]): Promise<void> {
    this.report.read++;
    this.report.rejected++;
    this.progress.update(this.bytes, this.report.read);
    await this.rejects.add(place, faults);
  }
}
