import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { KeyVerifier } from '../../api-keys/key-verifier.js';
import { FeedCurrency } from './feed-currency.js';
import { MarketStream, type StreamContext, type StreamOptions } from './market-stream.js';
import type { EndReason } from './stream-events.js';
import { StreamTimes } from './stream-times.js';
import { WatchCuts } from './watch-cuts.js';
import { WatchedScopes } from './watched-scopes.js';

/** Told for the metrics. */
export interface StreamObserver {
  opened(): void;
  ended(reason: string): void;
  written(news: { readonly commits: number; readonly waitedMs: number }): void;
}

/** All open streams: wakes those that a commit concerns, and looks after them all. */
@Injectable()
export class StreamHub implements BeforeApplicationShutdown {
  private readonly streams = new Set<MarketStream>();
  /** Those that have not ended: their scopes stay in memory. */
  private readonly holding = new Set<MarketStream>();
  /** The streams of each scope. */
  private readonly byScope = new Map<string, Set<MarketStream>>();
  private readonly woken = new Set<MarketStream>();
  /** Those that may have grown since they were looked at. */
  private changed = new Set<MarketStream>();
  private readonly timers: NodeJS.Timeout[];
  private readonly context: StreamContext;
  private proven = -Infinity;
  isDraining = false;
  observer: StreamObserver | undefined;

  constructor(
    readonly times: StreamTimes,
    private readonly cuts: WatchCuts,
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
    watched.listener = (key) => this.wake(key);
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
    this.holding.add(stream);
    this.watched.pin(options.watch);
    for (const key of options.watch.keys) {
      this.byScope.set(key, (this.byScope.get(key) ?? new Set()).add(stream));
    }
    this.observer?.opened();
    stream.begin();
    return stream;
  }

  /** To be called once, when the connection is gone. */
  close(stream: MarketStream): void {
    stream.closed();
    if (!this.streams.delete(stream)) return;
    this.release(stream);
    this.observer?.ended(stream.reason ?? 'left');
  }

  /** An ended stream holds no memory, though its caller may be slow to read that. */
  private release(stream: MarketStream): void {
    if (!this.holding.delete(stream)) return;
    this.woken.delete(stream);
    const { watch } = stream.options;
    this.watched.unpin(watch);
    for (const key of watch.keys) {
      const others = this.byScope.get(key);
      others?.delete(stream);
      if (others?.size === 0) this.byScope.delete(key);
    }
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

  private provenAt(): number {
    this.proven = Math.max(this.proven, performance.now() - this.currency.ageMs);
    return this.proven;
  }

  /** Commits that are told together make one event. */
  private wake(scopeKey: string): void {
    const before = this.cuts.position;
    const concerned = this.byScope.get(scopeKey);
    if (!concerned) return;
    if (this.woken.size === 0) setImmediate(() => this.pump());
    for (const stream of concerned) {
      stream.markNew(before);
      this.woken.add(stream);
    }
    if (!this.watched.makeRoom(new Set())) this.end(concerned, 'size');
  }

  private pump(): void {
    const woken = [...this.woken];
    this.woken.clear();
    for (const stream of woken) {
      stream.pump();
      this.changed.add(stream);
    }
  }

  private tick(): void {
    this.provenAt();
    const now = performance.now();
    const { changed } = this;
    this.changed = new Set();
    this.end(
      [...changed].filter(({ options }) => this.watched.isOver(options.watch)),
      'size',
    );
    for (const stream of this.streams) stream.tick(now);
  }

  private end(streams: Iterable<MarketStream>, reason: EndReason): void {
    for (const stream of streams) stream.end(reason);
  }

  private async checkKeys(): Promise<void> {
    const ids = new Set([...this.streams].map(({ options }) => options.keyId));
    await Promise.all([...ids].map((id) => this.checkKey(id)));
  }

  /** A key that can't be checked ends nothing. */
  private async checkKey(id: string): Promise<void> {
    if ((await this.keys.recheck(id)) !== false) return;
    this.end(
      [...this.streams].filter(({ options }) => options.keyId === id),
      'key',
    );
  }
}
