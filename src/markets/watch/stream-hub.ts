import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { KeyVerifier } from '../../api-keys/key-verifier.js';
import { ChangeFeed } from '../../change-feed/change-feed.js';
import { MarketStream } from './market-stream.js';
import type { StreamContext, StreamObserver, StreamOptions } from './stream-context.js';
import type { StreamEnd } from './stream-events.js';
import { StreamTimes } from './stream-times.js';
import { WatchGroups } from './watch-groups.js';
import { WatchedScopes } from './watched-scopes.js';

/** All open streams: checks them and their keys at intervals, and ends them at shutdown. */
@Injectable()
export class StreamHub implements BeforeApplicationShutdown, StreamContext {
  private readonly streams = new Set<MarketStream>();
  private readonly timers: NodeJS.Timeout[];
  private lastProvenAt = -Infinity;
  isDraining = false;
  observer: StreamObserver | undefined;

  constructor(
    readonly times: StreamTimes,
    readonly groups: WatchGroups,
    private readonly watched: WatchedScopes,
    private readonly feed: ChangeFeed,
    private readonly keys: KeyVerifier,
  ) {
    this.timers = [
      setInterval(() => this.tick(), times.tickMs).unref(),
      setInterval(() => void this.checkKeys(), times.checkKeysEveryMs).unref(),
    ];
  }

  get count(): number {
    return this.streams.size;
  }

  /** Monotonic time at which the feed was last known to be complete. */
  get provenAt(): number {
    this.lastProvenAt = Math.max(this.lastProvenAt, performance.now() - this.feed.ageMs);
    return this.lastProvenAt;
  }

  /** Streams until either side ends it. Whatever may refuse it must be checked before. */
  open(options: StreamOptions): MarketStream {
    const stream = new MarketStream(options, this, (reason) => this.ended(stream, reason));
    this.streams.add(stream);
    this.watched.watch(stream, options.watch);
    this.observer?.opened();
    options.response.once('close', () => stream.over('left'));
    stream.begin();
    return stream;
  }

  /** Ends all streams, spread over a while, and opens no more. */
  async drain(): Promise<void> {
    this.isDraining = true;
    const all = [...this.streams];
    const portion = Math.max(1, Math.ceil((all.length * this.times.tickMs) / this.times.drainMs));
    for (let start = 0; start < all.length; start += portion) {
      if (start > 0) await delay(this.times.tickMs);
      for (const stream of all.slice(start, start + portion)) stream.end('draining');
    }
  }

  beforeApplicationShutdown(): void {
    this.isDraining = true;
    for (const timer of this.timers) clearInterval(timer);
    for (const stream of this.streams) stream.end('draining');
  }

  /** Frees the memory of a stream at once: its client may take long to read the last event. */
  private ended(stream: MarketStream, reason: StreamEnd): void {
    this.streams.delete(stream);
    this.watched.unwatch(stream, stream.options.watch);
    this.observer?.ended(reason);
  }

  private tick(): void {
    const now = performance.now();
    for (const stream of this.streams) stream.tick(now);
  }

  private async checkKeys(): Promise<void> {
    const ids = new Set([...this.streams].map(({ options }) => options.keyId));
    await Promise.all([...ids].map((id) => this.checkKey(id)));
  }

  /** A key that can't be checked at the moment ends no stream. */
  private async checkKey(id: string): Promise<void> {
    if ((await this.keys.recheck(id)) !== false) return;
    for (const stream of this.streams) if (stream.options.keyId === id) stream.end('key');
  }
}
