import { Timestamp } from 'mongodb';
import { crc32 } from 'node:zlib';

/** Which position a client has reached, with which watch. */
export interface Cursor {
  /** Every commit up to this cluster time was told. */
  readonly position: Timestamp;
  /** `Watch.hash` */
  readonly watchHash: string;
}

export const WATCH_HASH_BYTES = 8;

/** The position of a cursor that later answers can't go on from. */
export const NO_POSITION = new Timestamp({ t: 0, i: 0 });

const VERSION = 1;
const CHECKED_BYTES = 1 + 8 + WATCH_HASH_BYTES;
const LENGTH = CHECKED_BYTES + 4;

/** 28 characters that may stand in a URL and in an event: version, seconds, increment, watch, checksum. */
export function writeCursor({ position, watchHash }: Cursor): string {
  const bytes = Buffer.alloc(LENGTH);
  bytes.writeUInt8(VERSION);
  bytes.writeUInt32BE(position.t, 1);
  bytes.writeUInt32BE(position.i, 5);
  bytes.write(watchHash, 9, WATCH_HASH_BYTES, 'hex');
  bytes.writeUInt32BE(crc32(bytes.subarray(0, CHECKED_BYTES)), CHECKED_BYTES);
  return bytes.toString('base64url');
}

/** @returns undefined for no text, and for one that `writeCursor` never wrote */
export function readCursor(text = ''): Cursor | undefined {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length !== LENGTH || bytes.toString('base64url') !== text) return undefined;
  const checked = bytes.subarray(0, CHECKED_BYTES);
  if (bytes[0] !== VERSION || bytes.readUInt32BE(CHECKED_BYTES) !== crc32(checked))
    return undefined;
  const position = new Timestamp({ t: bytes.readUInt32BE(1), i: bytes.readUInt32BE(5) });
  return { position, watchHash: bytes.toString('hex', 9, CHECKED_BYTES) };
}
