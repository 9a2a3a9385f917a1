import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import type { KeyedRequest } from '../http/api-request.js';
import { overloaded } from '../http/problem.js';
import { lengthOf } from './compression.js';

/** Bytes of answers that may be on their way to one key: they stay in memory until the client has read them. */
const UNSENT_BYTES_MAX = 64 * 1024 * 1024;

/** The same for all keys together, in memory. A key that has no answer on its way is not refused for it. */
const UNSENT_BYTES_TOTAL_MAX = 128 * 1024 * 1024;

/** Shorter answers are not counted: they come by the thousand, and most are sent at once. */
const COUNTED_BYTES_MIN = 64 * 1024;

/** Counts what is on its way to each key, so that callers do not fill memory with large answers that are not read. */
@Injectable()
export class UnsentAnswers {
  private readonly byKey = new Map<string, number>();
  /** How many unsent answers hold a piece of a body: equal groups of several answers are one piece. */
  private readonly holders = new Map<Buffer, number>();
  private total = 0;

  /**
   * To be called before an answer is made, which alone takes time and memory.
   * @param streamed bytes on their way on the key's streams
   * @throws Problem `overloaded` when too much is on its way to the key, or to all of them
   */
  checkRoom({ apiKey: { id } }: KeyedRequest, streamed = 0): void {
    const unsent = (this.byKey.get(id) ?? 0) + streamed;
    // A key may have at most what is free for all, so that a few keys can't take everything.
    const most = Math.min(UNSENT_BYTES_MAX, UNSENT_BYTES_TOTAL_MAX - this.total);
    if (unsent > 0 && unsent >= most) throw overloaded();
  }

  /**
   * Counts an answer until it is sent, or its client has left.
   * @throws Problem `overloaded` when answers that were made meanwhile have taken the room
   */
  add(request: KeyedRequest, response: Response, parts: readonly Buffer[]): void {
    if (lengthOf(parts) < COUNTED_BYTES_MIN) return;
    this.checkRoom(request);
    if (response.destroyed) return;
    const { id } = request.apiKey;
    this.change(id, parts, 1);
    response.once('close', () => this.change(id, parts, -1));
  }

  private change(key: string, parts: readonly Buffer[], by: 1 | -1): void {
    addTo(this.byKey, key, by * lengthOf(parts));
    for (const part of parts) {
      const before = this.holders.get(part) ?? 0;
      addTo(this.holders, part, by);
      if (before === 0 || before + by === 0) this.total += by * part.length;
    }
  }
}

function addTo<Key>(counts: Map<Key, number>, key: Key, count: number): void {
  const sum = (counts.get(key) ?? 0) + count;
  if (sum > 0) counts.set(key, sum);
  else counts.delete(key);
}
