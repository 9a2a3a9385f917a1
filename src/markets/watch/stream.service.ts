import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import type { ApiRequest, Caller } from '../../http/api-request.js';
import { overloaded } from '../../http/overload/overloaded.js';
import { answerHeadersOf } from '../../http/response-headers.js';
import { ChangesService } from './changes.service.js';
import type { Cursor } from './cursor.js';
import { FeedCurrency } from './feed-currency.js';
import { StreamHub } from './stream-hub.js';
import { StreamLimits } from './stream-limits.js';
import { noChangeFeed } from './watch-problems.js';
import { WatchedScopes } from './watched-scopes.js';
import type { Watch } from './watch.js';

export interface StreamWish {
  readonly watch: Watch;
  readonly cursor: Cursor | undefined;
  readonly conflateMs: number;
}

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
    private readonly watched: WatchedScopes,
    private readonly currency: FeedCurrency,
    private readonly changes: ChangesService,
  ) {}

  /** @throws Problem */
  async open(request: ApiRequest, response: Response, wish: StreamWish): Promise<void> {
    const giveBack = this.limits.take(request.apiKey as Caller);
    // It may be gone before there is anything to stream.
    response.once('close', giveBack);
    try {
      await this.prepare(wish);
    } catch (error) {
      giveBack();
      throw error;
    }
    if (response.closed || request.socket.destroyed) return;
    this.start(request, response, wish);
  }

  private async prepare({ watch, cursor }: StreamWish): Promise<void> {
    if (this.hub.isDraining) throw overloaded();
    if (!(await this.currency.reach(cursor?.position))) throw noChangeFeed();
    if (!(await this.watched.lease(watch))) throw noChangeFeed();
    await this.changes.knowPast(cursor?.position);
    if (this.hub.isDraining) throw overloaded();
  }

  private start(request: ApiRequest, response: Response, wish: StreamWish): void {
    const { watch, cursor, conflateMs } = wish;
    response.writeHead(200, { ...answerHeadersOf(request), ...HEADERS });
    const stream = this.hub.open({
      watch,
      response,
      keyId: request.apiKey?.id ?? '',
      since: cursor?.watchHash === watch.hash ? cursor.position : undefined,
      conflateMs,
    });
    request.stream = stream;
    response.once('close', () => this.hub.close(stream));
  }
}
