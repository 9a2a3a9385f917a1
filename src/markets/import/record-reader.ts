import { isUtf8 } from 'node:buffer';
import { createGunzip } from 'node:zlib';
import { messageOf, printable } from '../../common/command.js';
import {
  countLines,
  ElementSplitter,
  InputFault,
  isSpace,
  LineSplitter,
  LONGEST_RECORD_BYTES,
  type RawRecord,
  type RecordSplitter,
} from './record-splitter.js';

type Chunks = AsyncIterable<Buffer>;

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
/** Bytes that decide what the content is. */
const HEAD_BYTES = 3;
const ARRAY_START = 0x5b;

/** What is unpacked between two looks at the reader, at most a thousand times as much when unpacked. */
const PACKED_SLICE_BYTES = 16 * 1024;

/**
 * Tells records apart: NDJSON or one JSON array, either of them gzipped, whichever the content shows.
 * @throws InputFault after the last whole record when the input is cut or damaged
 */
export async function* readRecords(input: Chunks): AsyncGenerator<RawRecord> {
  let splitter: RecordSplitter | undefined;
  let line = 1;
  for await (const chunk of withoutMark(unpacked(input))) {
    if (!splitter) {
      const first = chunk.find((byte) => !isSpace(byte));
      if (first === undefined) {
        line += countLines(chunk);
        continue;
      }
      splitter = first === ARRAY_START ? new ElementSplitter(line) : new LineSplitter(line);
    }
    yield* splitter.push(chunk);
  }
  if (splitter) yield* splitter.end();
}

export type ParsedRecord =
  | { readonly value: unknown; readonly fault?: undefined }
  | { readonly value?: undefined; readonly fault: string };

/** Decodes strictly: what is not UTF-8 is refused, never replaced. */
export function parseRecord(bytes: Buffer | undefined): ParsedRecord {
  if (!bytes) return { fault: `is longer than ${LONGEST_RECORD_BYTES / 1024 / 1024} MiB` };
  if (!isUtf8(bytes)) return { fault: 'is not valid UTF-8' };
  try {
    return { value: JSON.parse(bytes.toString()) as unknown };
  } catch (error) {
    return { fault: `is not valid JSON: ${printable(messageOf(error))}` };
  }
}

async function* withoutMark(chunks: Chunks): Chunks {
  let isFirst = true;
  for await (const chunk of withHead(chunks, HEAD_BYTES)) {
    if (isFirst && isUtf16(chunk)) throw new InputFault('the file is UTF-16; UTF-8 is needed');
    yield isFirst && startsWith(chunk, BYTE_ORDER_MARK)
      ? chunk.subarray(BYTE_ORDER_MARK.length)
      : chunk;
    isFirst = false;
  }
}

/** JSON begins with ASCII, which is a zero byte beside another one in UTF-16. */
function isUtf16(head: Buffer): boolean {
  const [first, second] = head;
  if (first === undefined || second === undefined) return false;
  const hasMark = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  return hasMark || (first === 0) !== (second === 0);
}

async function* unpacked(input: Chunks): Chunks {
  let unpacker: Unpacker | undefined;
  let isFirst = true;
  for await (const chunk of withHead(input, GZIP_MAGIC.length)) {
    if (isFirst && startsWith(chunk, GZIP_MAGIC)) unpacker = new Unpacker();
    isFirst = false;
    if (unpacker) yield* unpacker.push(chunk);
    else yield chunk;
  }
  if (unpacker) yield* unpacker.end();
}

/** The same bytes, the first chunk of which has at least `length` of them unless there are fewer. */
async function* withHead(chunks: Chunks, length: number): Chunks {
  let head: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of chunks) {
    if (!head) {
      yield chunk;
      continue;
    }
    head = Buffer.concat([head, chunk]);
    if (head.length < length) continue;
    yield head;
    head = undefined;
  }
  if (head) yield head;
}

function startsWith(chunk: Buffer, prefix: Buffer): boolean {
  return chunk.subarray(0, prefix.length).equals(prefix);
}

/**
 * Unpacks gzip, one member after the other. A pipe would forget what it has unpacked when the rest turns
 * out to be cut; here every whole record before that is read.
 */
class Unpacker {
  private readonly gunzip = createGunzip();
  private output: Buffer[] = [];
  private error: Error | undefined;

  constructor() {
    this.gunzip.on('data', (chunk: Buffer) => this.output.push(chunk));
    this.gunzip.on('error', (error) => {
      this.error = error;
    });
  }

  async *push(chunk: Buffer): Chunks {
    for (let start = 0; start < chunk.length; start += PACKED_SLICE_BYTES) {
      const slice = chunk.subarray(start, start + PACKED_SLICE_BYTES);
      await this.until((done) => this.gunzip.write(slice, done));
      yield* this.take();
    }
  }

  async *end(): Chunks {
    await this.until((done) => this.gunzip.once('end', done).end());
    yield* this.take();
  }

  private *take(): Iterable<Buffer> {
    yield* this.output;
    this.output = [];
    if (this.error) throw new InputFault(`the gzip data is cut or damaged: ${this.error.message}`);
  }

  private until(start: (done: () => void) => void): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.gunzip.off('close', done);
        resolve();
      };
      this.gunzip.once('close', done);
      start(done);
    });
  }
}
