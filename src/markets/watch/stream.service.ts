import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { Config } from '../../config.js';
import type { ApiRequest, Caller } from '../../http/api-request.js';
import { overloaded, Problem } from '../../http/problem.js';
import { answerHeadersOf } from '../../http/response-headers.js';
import { StreamHub } from './stream-hub.js';
import { WatchOpening } from './watch-opening.js';
import type { WatchQuestion } from './watch-question.js';

const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'private, no-store, no-transform',
  'X-Accel-Buffering': 'no',
};

/** Opens streams: all that can be refused is refused before the first byte. */
@Injectable()
export class StreamService {
  /** How many streams each key has open, or is about to open. */
  private readonly ofKeys = new Map<string, number>();
  private all = 0;

  constructor(
    private readonly config: Config,
    private readonly hub: StreamHub,
    private readonly opening: WatchOpening,
  ) {}

  /** @throws Problem */
  async open(
    request: ApiRequest,
    response: Response,
    question: WatchQuestion,
    conflateMs: number,
  ): Promise<void> {
    // The client may have left while its key was checked: its stream would be counted for ever.
    if (response.closed) return;
    const caller = request.apiKey as Caller;
    this.take(caller, response);
    if (this.hub.isDraining) throw overloaded();
    const unavailable = await this.opening.open(question);
    if (unavailable) throw unavailable;
    if (this.hub.isDraining) throw overloaded();
    if (response.closed || request.socket.destroyed) return;
    response.writeHead(200, { ...answerHeadersOf(request), ...HEADERS });
    const { watch, since } = question;
    const options = { watch, response, keyId: caller.id, since, conflateMs };
    request.stream = this.hub.open(options);
  }

  /**
   * Counts a stream until its response is closed, whether it is opened or refused later. A new one never displaces
   * another.
   */
  private take({ id, streams }: Caller, response: Response): void {
    const limit = streams ?? this.config.streamsPerKey;
    if ((this.ofKeys.get(id) ?? 0) >= limit) {
      const detail = `This key has ${limit} streams open, which is its limit.`;
      throw new Problem('too_many_streams', detail);
    }
    if (this.all >= this.config.streamsMax) throw overloaded();
    this.count(id, 1);
    response.once('close', () => this.count(id, -1));
  }

  private count(id: string, difference: 1 | -1): void {
    this.all += difference;
    const open = (this.ofKeys.get(id) ?? 0) + difference;
    if (open > 0) this.ofKeys.set(id, open);
    else this.ofKeys.delete(id);
  }
}
