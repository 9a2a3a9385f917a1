import { Injectable } from '@nestjs/common';
import { Config } from '../../config.js';
import type { CachedScope } from '../cache/cached-scope.js';
import { LiveScopes, type ScopeOwner } from '../cache/live-scopes.js';
import { MARKETS_MAX } from '../cache/make-scope.js';
import { scopeKey, type Scope } from '../scope.js';
import type { Watch } from './watch.js';
import { WatchedScope, type ScopeWatcher } from './watched-scope.js';

/** A scope that nobody streams is kept for so long after it was asked for. Milliseconds. */
const LEASE_MS = 60_000;

/** The scopes that callers watch: held outside CACHE_MAX_MB, up to WATCH_MAX_MB. */
@Injectable()
export class WatchedScopes implements ScopeOwner {
  private readonly watched = new Map<string, WatchedScope>();
  private readonly bytesMax: number;
  bytes = 0;

  constructor(
    private readonly live: LiveScopes,
    { watchMaxMb }: Config,
  ) {
    this.bytesMax = watchMaxMb * 1024 * 1024;
    live.addOwner(this);
  }

  /** Scopes that are streamed, and have to be loaded again. */
  get missing(): WatchedScope[] {
    return [...this.watched.values()].filter(({ watchers, live }) => watchers.size > 0 && !live);
  }

  get(key: string): CachedScope | undefined {
    return this.watched.get(key)?.live;
  }

  /** How many markets a scope has; 0 while it is not in memory. */
  sizeOf(key: string): number {
    return this.get(key)?.length ?? 0;
  }

  /** Notes that scopes are asked for, so that they are kept for a while, and dropped after all others. */
  lease(scopes: readonly Scope[]): WatchedScope[] {
    const leasedUntil = performance.now() + LEASE_MS;
    return scopes.map((scope) => {
      const key = scopeKey(scope);
      const watched = this.watched.get(key) ?? new WatchedScope(scope);
      watched.leasedUntil = leasedUntil;
      this.watched.delete(key);
      this.watched.set(key, watched);
      return watched;
    });
  }

  watch(watcher: ScopeWatcher, { scopes }: Watch): void {
    for (const { watchers } of this.lease(scopes)) watchers.add(watcher);
  }

  unwatch(watcher: ScopeWatcher, { keys }: Watch): void {
    for (const key of keys) this.watched.get(key)?.watchers.delete(watcher);
  }

  /** Uses the scope that is in memory already, if it is and if it is wanted. */
  take(key: string): boolean {
    const watched = this.watched.get(key);
    const live = this.live.get(key);
    if (!watched || !live || live.length > MARKETS_MAX) return false;
    const isNew = watched.live !== live;
    watched.live = live;
    this.weigh(watched);
    if (isNew) watched.markNew();
    return true;
  }

  /** Takes a scope that was loaded, unless nobody wants it any more. */
  keep(scope: CachedScope): void {
    this.live.add(scope);
    if (!this.take(scope.key)) this.live.release(scope);
  }

  /**
   * While there is too much, drops answers, which can be made again, then scopes that are only leased, those first
   * that were asked for the longest time ago.
   * @returns whether there is room now
   */
  makeRoom(): boolean {
    for (const watched of this.watched.values()) {
      if (this.hasRoom) return true;
      watched.live?.forgetAnswers();
      this.weigh(watched);
    }
    for (const [key, watched] of this.watched) {
      if (this.hasRoom) return true;
      if (watched.watchers.size === 0) this.drop(key, watched);
    }
    return this.hasRoom;
  }

  /** Drops scopes whose lease has ended. */
  expire(now: number): void {
    for (const [key, watched] of this.watched) {
      if (watched.watchers.size === 0 && watched.leasedUntil < now) this.drop(key, watched);
      else this.weigh(watched);
    }
    // Look-ups may have left answers in what is watched.
    this.makeRoom();
  }

  owns(scope: CachedScope): boolean {
    return this.get(scope.key) === scope;
  }

  changed({ key }: CachedScope): void {
    const watched = this.watched.get(key);
    if (!watched) return;
    this.weigh(watched);
    watched.markNew();
    if (this.makeRoom()) return;
    for (const watcher of watched.watchers) watcher.end('size');
  }

  lost({ key }: CachedScope): void {
    const watched = this.watched.get(key);
    if (!watched) return;
    watched.live = undefined;
    this.weigh(watched);
    if (watched.watchers.size === 0) this.watched.delete(key);
    watched.markNew();
  }

  private get hasRoom(): boolean {
    return this.bytes <= this.bytesMax;
  }

  private drop(key: string, { live, bytes }: WatchedScope): void {
    this.bytes -= bytes;
    this.watched.delete(key);
    if (live) this.live.release(live);
  }

  private weigh(watched: WatchedScope): void {
    const bytes = watched.live?.bytes ?? 0;
    this.bytes += bytes - watched.bytes;
    watched.bytes = bytes;
  }
}
