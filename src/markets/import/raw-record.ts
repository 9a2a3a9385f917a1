/** The largest document that MongoDB takes, and the longest record that is read. */
export const DOCUMENT_BYTES_MAX = 16 * 1024 * 1024;

/** One record as it stands in a file. */
export interface RawRecord {
  /** The line on which it starts, from 1. */
  readonly line: number;
  /** Undefined when it is longer than DOCUMENT_BYTES_MAX. */
  readonly bytes: Buffer | undefined;
}

/** The input can't be read on: more is wrong than a single record. */
export class InputFault extends Error {}

export const LF = 0x0a;
/** White space of JSON. */
export function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === LF || byte === 0x0d || byte === 0x09;
}

/** Gathers the bytes of one record over chunks, and forgets them beyond the limit. */
export class Gatherer {
  private parts: Buffer[] = [];
  private size = 0;

  add(part: Buffer): void {
    this.size += part.length;
    if (this.size > DOCUMENT_BYTES_MAX) this.parts = [];
    else if (part.length > 0) this.parts.push(part);
  }

  take(): Buffer | undefined {
    const { parts, size } = this;
    this.parts = [];
    this.size = 0;
    if (size > DOCUMENT_BYTES_MAX) return undefined;
    return parts.length === 1 ? parts[0] : Buffer.concat(parts, size);
  }
}
