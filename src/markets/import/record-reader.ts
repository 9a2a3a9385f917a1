import { isUtf8 } from 'node:buffer';
import { messageOf, printable } from '../../common/text.js';
import { ARRAY_START, ElementSplitter } from './element-splitter.js';
import { unpacked } from './gunzip.js';
import { LineSplitter } from './line-splitter.js';
import { InputFault, isSpace, LF, DOCUMENT_BYTES_MAX, type RawRecord } from './raw-record.js';
import type { Chunks } from './read-until.js';

/** The longest mark at the beginning of a file is the byte order mark of UTF-8; that of gzip has two bytes. */
const HEAD_BYTES = 3;

const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/** JSON in UTF-16 begins with a byte order mark, or with a character of ASCII: one of its two bytes is zero. */
const UTF_16 = /^(?:\xff\xfe|\xfe\xff|\0[^\0]|[^\0]\0)/;

/**
 * Tells records apart: NDJSON or one JSON array, either of them gzipped, whichever the content shows.
 * @throws InputFault after the last whole record when the input is cut or damaged
 */
export async function* readRecords(input: Chunks): AsyncGenerator<RawRecord> {
  let splitter: LineSplitter | ElementSplitter | undefined;
  let line = 1;
  for await (const chunk of readByHead(readByHead(input, unpacked), withoutMark)) {
    if (splitter) {
      yield* splitter.push(chunk);
      continue;
    }
    const start = chunk.findIndex((byte) => !isSpace(byte));
    const blank = start === -1 ? chunk : chunk.subarray(0, start);
    line += blank.filter((byte) => byte === LF).length;
    if (start === -1) continue;
    const isArray = chunk[start] === ARRAY_START;
    splitter = isArray ? new ElementSplitter(line) : new LineSplitter(line);
    yield* splitter.push(chunk.subarray(isArray ? start + 1 : blank.lastIndexOf(LF) + 1));
  }
  if (splitter) yield* splitter.end();
}

/** Decodes strictly: what is not UTF-8 is refused, never replaced. */
export function parseRecord(bytes: Buffer | undefined) {
  if (!bytes) return { fault: `is longer than ${DOCUMENT_BYTES_MAX / 1024 / 1024} MiB` };
  if (!isUtf8(bytes)) return { fault: 'is not valid UTF-8' };
  try {
    return { value: JSON.parse(bytes.toString()) as unknown };
  } catch (error) {
    return { fault: `is not valid JSON: ${printable(messageOf(error))}` };
  }
}

async function* withoutMark(head: Buffer, whole: Chunks): Chunks {
  const start = head.toString('latin1', 0, 2);
  if (UTF_16.test(start)) throw new InputFault('the file is UTF-16; UTF-8 is needed');
  let skipped = head.indexOf(BYTE_ORDER_MARK) === 0 ? BYTE_ORDER_MARK.length : 0;
  for await (const chunk of whole) {
    yield chunk.subarray(skipped);
    skipped = 0;
  }
}

/** What `read` makes of the input. It gets the first three bytes, or all if there are fewer, and the whole input. */
async function* readByHead(chunks: Chunks, read: (head: Buffer, whole: Chunks) => Chunks): Chunks {
  let head = Buffer.alloc(0);
  async function* whole(): Chunks {
    yield head;
    yield* chunks;
  }
  try {
    while (head.length < HEAD_BYTES) {
      const next = await chunks.next();
      if (next.done) break;
      head = Buffer.concat([head, next.value]);
    }
    yield* read(head, whole());
  } finally {
    void chunks.return();
  }
}
