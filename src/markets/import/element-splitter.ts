import { Gatherer, InputFault, isSpace, LF, type RawRecord } from './raw-record.js';

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
export const ARRAY_START = 0x5b;
const ARRAY_END = 0x5d;
const OBJECT_START = 0x7b;
const OBJECT_END = 0x7d;

/**
 * A JSON array: a record in each element. Elements are told apart by brackets and quotes alone, and parsed later, one
 * by one. So every record has a line, and a broken element whose brackets and quotes are closed spoils no other.
 */
export class ElementSplitter {
  private readonly gatherer = new Gatherer();
  /** How many brackets are open: 1 within the array itself, 0 after it. */
  private depth = 1;
  private inString = false;
  private escaped = false;
  /** Where the current element began; undefined while there is nothing but white space. */
  private elementLine: number | undefined;
  private afterComma = false;

  /** @param line where the array begins; what is pushed begins after its bracket */
  constructor(private line: number) {}

  *push(chunk: Buffer): Iterable<RawRecord> {
    let start = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0;
      if (byte === LF) this.line++;
      if (this.inString) {
        if (this.escaped) this.escaped = false;
        else if (byte === BACKSLASH) this.escaped = true;
        else if (byte === QUOTE) this.inString = false;
        continue;
      }
      if (isSpace(byte)) continue;
      if (this.depth === 0) {
        throw new InputFault(`something follows the array, on line ${this.line}`);
      }
      const outside = this.depth === 1;
      if (outside && (byte === COMMA || byte === ARRAY_END)) {
        this.gatherer.add(chunk.subarray(start, at));
        yield* this.element(byte);
        start = at + 1;
        continue;
      }
      this.elementLine ??= this.line;
      if (byte === QUOTE) this.inString = true;
      else if (byte === OBJECT_START || byte === ARRAY_START) this.depth++;
      else if ((byte === OBJECT_END || byte === ARRAY_END) && !outside) this.depth--;
    }
    if (this.depth > 0) this.gatherer.add(chunk.subarray(start));
  }

  /** @throws InputFault when the array has not come to its end */
  end(): Iterable<RawRecord> {
    if (this.depth === 0) return [];
    throw new InputFault('the array is cut: it does not end with ]');
  }

  private *element(delimiter: number): Iterable<RawRecord> {
    const bytes = this.gatherer.take();
    const closes = delimiter === ARRAY_END;
    const isEmptyArray = closes && this.elementLine === undefined && !this.afterComma;
    if (!isEmptyArray) yield { line: this.elementLine ?? this.line, bytes };
    this.elementLine = undefined;
    this.afterComma = !closes;
    if (closes) this.depth = 0;
  }
}
