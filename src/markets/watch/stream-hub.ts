import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { KeyVerifier } from '../../api-keys/key-verifier.js';
import { FeedCurrency } from './feed-currency.js';
import { MarketStream, type StreamContext, type StreamOptions } from './market-stream.js';
import { StreamTimes } from './stream-times.js';
import { WatchCuts } from './watch-cuts.js';
import { WatchedScopes } from './watched-scopes.js';

/** Told for the metrics. */
export interface StreamObserver {
  opened(): void;
  ended(reason: string): void;
  written(news: { readonly commits: number; readonly waitedMs: number }): void;
}

/** All open streams, until they end: looks after them. */
@Injectable()
export class StreamHub implements BeforeApplicationShutdown {
  private readonly streams = new Set<MarketStream>();
  private readonly timers: NodeJS.Timeout[];
  private readonly context: StreamContext;
  private proven = -Infinity;
  isDraining = false;
  observer: StreamObserver | undefined;

  constructor(
    readonly times: StreamTimes,
    cuts: WatchCuts,
    private readonly watched: WatchedScopes,
    private readonly currency: FeedCurrency,
    private readonly keys: KeyVerifier,
  ) {
    this.context = {
      cuts,
      times,
      provenAt: () => this.provenAt(),
      written: (news) => this.observer?.written(news),
      ended: (stream) => this.release(stream),
    };
    this.timers = [
      setInterval(() => this.tick(), times.tickMs).unref(),
      setInterval(() => void this.checkKeys(), times.checkKeysEveryMs).unref(),
    ];
  }

  get count(): number {
    return this.streams.size;
  }

  /** Streams until either side ends it. Everything that may refuse it comes before. */
  open(options: StreamOptions): MarketStream {
    const stream = new MarketStream(options, this.context);
    this.streams.add(stream);
    this.watched.watch(stream, options.watch);
    this.observer?.opened();
    stream.begin();
    return stream;
  }

  /** To be called when the connection is gone. */
  close(stream: MarketStream): void {
    stream.over();
    this.release(stream);
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

  /** An ended stream holds no memory, though its caller may be slow to read that. */
  private release(stream: MarketStream): void {
    if (!this.streams.delete(stream)) return;
    this.watched.unwatch(stream, stream.options.watch);
    this.observer?.ended(stream.reason ?? 'left');
  }

  private provenAt(): number {
    this.proven = Math.max(this.proven, performance.now() - this.currency.ageMs);
    return this.proven;
  }

  private tick(): void {
    const now = performance.now();
    for (const stream of this.streams) stream.tick(now);
  }

  private async checkKeys(): Promise<void> {
    const ids = new Set([...this.streams].map(({ options }) => options.keyId));
    await Promise.all([...ids].map((id) => this.checkKey(id)));
  }

  /** A key that can't be checked ends nothing. */
  private async checkKey(id: string): Promise<void> {
    if ((await this.keys.recheck(id)) !== false) return;
    for (const stream of this.streams) if (stream.options.keyId === id) stream.end('key');
  }
}
