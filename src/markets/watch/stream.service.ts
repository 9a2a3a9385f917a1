import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import type { ApiRequest, Caller } from '../../http/api-request.js';
import { overloaded } from '../../http/overload/overloaded.js';
import { answerHeadersOf } from '../../http/response-headers.js';
import { StreamHub } from './stream-hub.js';
import { StreamLimits } from './stream-limits.js';
import { WatchOpening } from './watch-opening.js';
import { changesUnavailable } from './watch-problems.js';
import type { WatchQuestion } from './watch-question.js';

const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'private, no-store, no-transform',
  'X-Accel-Buffering': 'no',
};

/** Opens streams: all that can be refused is refused before the first byte. */
@Injectable()
export class StreamService {
  constructor(
    private readonly limits: StreamLimits,
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
    this.limits.take(caller, response);
    await this.prepare(question);
    if (response.closed || request.socket.destroyed) return;
    response.writeHead(200, { ...answerHeadersOf(request), ...HEADERS });
    const { watch, since } = question;
    const options = { watch, response, keyId: caller.id, since, conflateMs };
    request.stream = this.hub.open(options);
  }

  private async prepare(question: WatchQuestion): Promise<void> {
    if (this.hub.isDraining) throw overloaded();
    const unavailable = await this.opening.open(question);
    if (unavailable) throw changesUnavailable(unavailable);
    if (this.hub.isDraining) throw overloaded();
  }
}
