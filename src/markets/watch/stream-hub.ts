import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import type { Response } from 'express';
import { setTimeout as delay } from 'node:timers/promises';
import { KeyVerifier } from '../../api-keys/key-verifier.js';
import { ChangeFeed } from '../../change-feed/change-feed.js';
import { Config } from '../../config.js';
import type { KeyedRequest } from '../../http/api-request.js';
import { overloaded, Problem } from '../../http/problem.js';
import { headerList } from '../../http/response-headers.js';
import { MarketStream } from './market-stream.js';
import { OpenStreams } from './open-streams.js';
import type { StreamContext, StreamObserver } from './stream-context.js';
import { StreamTimes } from './stream-times.js';
import { UnsentAnswers } from '../unsent-answers.js';
import { UnsentEvents } from './unsent-events.js';
import { WatchGroups } from './watch-groups.js';
import { WatchPreparation } from './watch-preparation.js';
import type { WatchQuestion } from './watch-question.js';
import type { Watch } from './watch.js';
import { WatchedScopes } from './watched-scopes.js';

const HEADERS = headerList({
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'private, no-store, no-transform',
  'X-Accel-Buffering': 'no',
});

/** All open streams: opens them, checks them and their keys at intervals, and ends them at shutdown. */
@Injectable()
export class StreamHub implements BeforeApplicationShutdown, StreamContext {
  private readonly streams = new OpenStreams();
  private readonly timers = [
    setInterval(() => this.tick(), this.times.tickMs).unref(),
    setInterval(() => this.checkKeys(), this.times.checkKeysEveryMs).unref(),
  ];
  readonly unsentEvents = new UnsentEvents();
  isDraining = false;
  observer: StreamObserver | undefined;

  constructor(
    readonly times: StreamTimes,
    readonly groups: WatchGroups,
    readonly feed: ChangeFeed,
    private readonly preparation: WatchPreparation,
    private readonly watched: WatchedScopes,
    private readonly keys: KeyVerifier,
    private readonly config: Config,
    private readonly unsent: UnsentAnswers,
  ) {}

  get count(): number {
    return this.streams.all.size;
  }

  /**
   * Streams until either side ends it. All that can be refused is refused before the first byte.
   * @throws Problem
   */
  async open(
    request: KeyedRequest,
    response: Response,
    question: WatchQuestion,
    conflateMs: number,
  ): Promise<void> {
    // Its client may have left while its key was checked.
    if (response.closed) return;
    this.refuseTooMany(request);
    // While it shuts down a stream is ended at once: browsers never come back after a 503.
    const unavailable = this.isDraining ? undefined : await this.preparation.prepare(question);
    if (unavailable) throw unavailable;
    // A client that has left emits no further `close`, so its stream would be counted for ever.
    if (response.closed) return;
    const { watch, since } = question;
    const { id: keyId } = request.apiKey;
    // Other streams may have been opened meanwhile.
    this.refuseTooMany(request);
    if (!this.isDraining && !this.hasRoom(keyId, watch)) throw overloaded();
    response.writeHead(200, HEADERS);
    const options = { watch, response, keyId, since, conflateMs };
    const stream = new MarketStream(options, this, (reason) => {
      // Not when the response closes: its client may take long to read the last event.
      this.streams.delete(stream);
      this.watched.unwatch(stream, watch);
      this.observer?.ended(reason);
    });
    request.stream = stream;
    this.streams.add(stream);
    this.watched.watch(stream, watch);
    this.observer?.opened();
    stream.begin();
    if (this.isDraining) stream.end('draining');
  }

  /** Ends all streams, spread over a while, and new ones at once. */
  async drain(): Promise<void> {
    this.isDraining = true;
    const all = [...this.streams.all];
    const portion = Math.max(1, Math.ceil((all.length * this.times.tickMs) / this.times.drainMs));
    for (let start = 0; start < all.length; start += portion) {
      if (start > 0) await delay(this.times.tickMs);
      for (const stream of all.slice(start, start + portion)) stream.end('draining');
    }
  }

  beforeApplicationShutdown(): void {
    this.isDraining = true;
    for (const timer of this.timers) clearInterval(timer);
    for (const stream of this.streams.all) stream.end('draining');
  }

  /** @throws Problem when there are as many streams as may be, or too much is unread: none makes way for a new one */
  private refuseTooMany(request: KeyedRequest): void {
    const { id, streams = this.config.streamsPerKey } = request.apiKey;
    const ofKey = this.streams.ofKey(id);
    if (ofKey.size >= streams) {
      const detail = `This key has ${streams} streams open, which is its limit.`;
      throw new Problem('too_many_streams', detail);
    }
    if (this.count >= this.config.streamsMax) throw overloaded();
    let streamed = 0;
    for (const { options } of ofKey) streamed += options.response.writableLength;
    this.unsent.checkRoom(request, streamed);
  }

  private hasRoom(keyId: string, watch: Watch): boolean {
    const others = () => [...this.streams.ofKey(keyId)].map(({ options }) => options.watch);
    return this.watched.isFair(watch, others) && this.watched.makeRoomFor(watch);
  }

  private tick(): void {
    const now = performance.now();
    this.unsentEvents.forgetRead();
    for (const stream of this.streams.all) stream.tick(now);
  }

  private checkKeys(): void {
    for (const id of this.streams.keyIds) void this.checkKey(id);
  }

  /** A key that can't be checked at the moment ends no stream. */
  private async checkKey(id: string): Promise<void> {
    if (!(await this.keys.hasEnded(id))) return;
    for (const stream of this.streams.ofKey(id)) stream.end('key');
  }
}
