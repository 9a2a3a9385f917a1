import { hash, randomInt, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ID_LENGTH = 12;
const SECRET_LENGTH = 32;
const CHECKSUM_LENGTH = 6;

const KEY = /^mos_([0-9A-Za-z]{12})_[0-9A-Za-z]{38}$/;

/** A new key, `mos_<id>_<secret><checksum>`. */
export function generateKey(): string {
  return withChecksum(`mos_${randomText(ID_LENGTH)}_${randomText(SECRET_LENGTH)}`);
}

/** The id of a well-formed key: its form and its checksum are right. Nothing is known of its secret. */
export function keyIdOf(text: string): string | undefined {
  const id = KEY.exec(text)?.[1];
  return id && text === withChecksum(text.slice(0, -CHECKSUM_LENGTH)) ? id : undefined;
}

/** What is stored in the place of a key: SHA-256 of all of it, in hex. The secret's 190 bits need no salt. */
export function hashKey(key: string): string {
  return hash('sha256', key, 'hex');
}

/** A key as a request brought it, well-formed. */
export interface PresentedKey {
  readonly id: string;
  readonly text: string;
  readonly hash: Buffer;
}

/** @param earlier a key that is likely to be the same: if it is, nothing is hashed */
export function parseKey(text: string, earlier?: PresentedKey): PresentedKey | undefined {
  if (earlier?.text === text) return earlier;
  const id = keyIdOf(text);
  return id === undefined ? undefined : { id, text, hash: hash('sha256', text, 'buffer') };
}

/** Whether a key is the one whose hash is stored; compared in constant time. */
export function matchesHash(key: PresentedKey, stored: unknown): boolean {
  const expected = Buffer.from(typeof stored === 'string' ? stored : '', 'hex');
  return expected.length === key.hash.length && timingSafeEqual(expected, key.hash);
}

/** Completes a key: CRC-32 of all before it, in base 62. */
export function withChecksum(body: string): string {
  return body + toBase62(crc32(body)).padStart(CHECKSUM_LENGTH, '0');
}

function toBase62(value: number): string {
  const rest = Math.floor(value / ALPHABET.length);
  return (rest > 0 ? toBase62(rest) : '') + ALPHABET.charAt(value % ALPHABET.length);
}

function randomText(length: number): string {
  return Array.from({ length }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
}
