import { Gatherer, isSpace, LF, type RawRecord } from './raw-record.js';

/** NDJSON: a record on each line. */
export class LineSplitter {
  private readonly gatherer = new Gatherer();

  constructor(private line: number) {}

  *push(chunk: Buffer): Iterable<RawRecord> {
    let start = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
      this.gatherer.add(chunk.subarray(start, end));
      yield* this.end();
      this.line++;
      start = end + 1;
    }
    this.gatherer.add(chunk.subarray(start));
  }

  *end(): Iterable<RawRecord> {
    const bytes = this.gatherer.take();
    if (!bytes?.every(isSpace)) yield { line: this.line, bytes };
  }
}
