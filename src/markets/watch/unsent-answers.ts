import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import type { KeyedRequest } from '../../http/api-request.js';
import { overloaded } from '../../http/problem.js';

/** Bytes of answers that may be on their way to one key: they stay in memory until the client has read them. */
const UNSENT_MAX = 64 * 1024 * 1024;

/** Counts what is on its way to each key, so that no caller fills memory with large answers that are not read. */
@Injectable()
export class UnsentAnswers {
  private readonly byKey = new Map<string, number>();

  /**
   * To be called before an answer is made, which alone takes time and memory.
   * @param streamed bytes on their way on the key's streams
   * @throws Problem `overloaded` when too much is on its way to the key
   */
  checkRoom({ apiKey: { id } }: KeyedRequest, streamed = 0): void {
    if ((this.byKey.get(id) ?? 0) + streamed >= UNSENT_MAX) throw overloaded();
  }

  /**
   * Counts an answer until it is sent, or its client has left.
   * @throws Problem `overloaded` when answers that were made meanwhile have taken the room
   */
  add(request: KeyedRequest, response: Response, bytes: number): void {
    this.checkRoom(request);
    if (response.destroyed) return;
    const { id } = request.apiKey;
    this.change(id, bytes);
    response.once('close', () => this.change(id, -bytes));
  }

  private change(key: string, bytes: number): void {
    const unsent = (this.byKey.get(key) ?? 0) + bytes;
    if (unsent > 0) this.byKey.set(key, unsent);
    else this.byKey.delete(key);
  }
}
