import type { TransformOptions } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, type ZlibOptions } from 'node:zlib';
import { InputFault } from './raw-record.js';
import { readUntil, type Chunks } from './read-until.js';

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);

/** No chunk waits in front of zlib: if reading the input fails, all before the failure is unpacked already. */
const CHUNK_BY_CHUNK: ZlibOptions & TransformOptions = { writableHighWaterMark: 1 };

/** The same bytes, unpacked if they are gzip. If the gzip data is cut, all before the cut is given. */
export async function* unpacked(head: Buffer, whole: Chunks): Chunks {
  if (head.indexOf(GZIP_MAGIC) !== 0) {
    yield* whole;
    return;
  }
  const gunzip = createGunzip(CHUNK_BY_CHUNK);
  // `readUntil` throws what goes wrong, after what was unpacked by then.
  pipeline(whole, gunzip).catch(() => undefined);
  try {
    yield* readUntil(gunzip);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (!code?.startsWith('Z_')) throw error;
    throw new InputFault(`the gzip data is cut or damaged: ${message}`);
  }
}
