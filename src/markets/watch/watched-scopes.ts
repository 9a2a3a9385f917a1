import { Injectable } from '@nestjs/common';
import { Config } from '../../config.js';
import type { CachedScope } from '../cache/cached-scope.js';
import { LiveScopes, type ScopeOwner } from '../cache/live-scopes.js';
import { MARKETS_MAX } from '../cache/scope-loader.js';
import { scopeKey, type Scope } from '../scope.js';
import { Wakes, type ScopeWatcher } from './wakes.js';
import type { Watch } from './watch.js';

/** A scope that nobody streams stays for so long after it was asked for. Milliseconds. */
const LEASE_MS = 60_000;

/** A scope that is watched: by streams, or leased for a while. */
export interface Watched {
  readonly scope: Scope;
  readonly watchers: Set<ScopeWatcher>;
  live: CachedScope | undefined;
  bytes: number;
  leasedUntil: number;
  /** When it is loaded again if it is missing, and after how long if that fails. */
  retryAt: number;
  retryMs: number;
}

/** The scopes that callers watch: held outside CACHE_MAX_MB, up to WATCH_MAX_MB. */
@Injectable()
export class WatchedScopes implements ScopeOwner {
  private readonly watched = new Map<string, Watched>();
  private readonly wakes = new Wakes();
  private readonly bytesMax: number;
  bytes = 0;

  constructor(
    private readonly live: LiveScopes,
    { watchMaxMb }: Config,
  ) {
    this.bytesMax = watchMaxMb * 1024 * 1024;
    live.addOwner(this);
  }

  private get isTooLarge(): boolean {
    return this.bytes > this.bytesMax;
  }

  /** A scope that is current, if it can be. */
  get(key: string): CachedScope | undefined {
    return this.watched.get(key)?.live;
  }

  /** Scopes that are streamed, and have to be loaded again. */
  get missing(): Watched[] {
    return [...this.watched.values()].filter(({ watchers, live }) => watchers.size > 0 && !live);
  }

  lease(scopes: readonly Scope[]): void {
    for (const scope of scopes) this.note(scope);
  }

  watch(watcher: ScopeWatcher, { scopes }: Watch): void {
    for (const scope of scopes) this.note(scope).watchers.add(watcher);
  }

  unwatch(watcher: ScopeWatcher, { keys }: Watch): void {
    for (const key of keys) this.watched.get(key)?.watchers.delete(watcher);
  }

  /** Takes a scope over that is in memory, if it is. */
  take(key: string): boolean {
    const watched = this.watched.get(key);
    const live = this.live.get(key);
    if (!watched || !live || live.length > MARKETS_MAX) return false;
    const isNew = watched.live !== live;
    watched.live = live;
    this.weigh(watched);
    if (isNew) this.wakes.wake(watched.watchers);
    return true;
  }

  /** Takes a scope that was loaded. */
  keep(scope: CachedScope): void {
    this.live.add(scope);
    if (!this.take(scope.key)) this.live.release(scope);
  }

  /**
   * Lets go what can be made again, then scopes that are leased, while there is too much.
   * @returns whether there is room now
   */
  makeRoom(wanted: ReadonlySet<string> = new Set()): boolean {
    for (const watched of this.watched.values()) {
      if (!this.isTooLarge) return true;
      watched.live?.forgetAnswers();
      this.weigh(watched);
    }
    for (const [key, { watchers }] of this.watched) {
      if (!this.isTooLarge) return true;
      if (watchers.size === 0 && !wanted.has(key)) this.drop(key);
    }
    return !this.isTooLarge;
  }

  /** Lets go of scopes that were leased for long enough. */
  expire(now: number): void {
    for (const [key, watched] of this.watched) {
      if (watched.watchers.size === 0 && watched.leasedUntil < now) this.drop(key);
      else this.weigh(watched);
    }
  }

  owns(scope: CachedScope): boolean {
    return this.watched.get(scope.key)?.live === scope;
  }

  changed(scope: CachedScope): void {
    const watched = this.watched.get(scope.key);
    if (watched?.live !== scope) return;
    this.weigh(watched);
    this.wakes.wake(watched.watchers);
    if (this.makeRoom()) return;
    for (const watcher of watched.watchers) watcher.end('size');
  }

  lost(scope: CachedScope): void {
    const watched = this.watched.get(scope.key);
    if (watched?.live !== scope) return;
    watched.live = undefined;
    this.weigh(watched);
    if (watched.watchers.size === 0) this.watched.delete(scope.key);
    this.wakes.wake(watched.watchers);
  }

  private note(scope: Scope): Watched {
    const key = scopeKey(scope);
    const leasedUntil = performance.now() + LEASE_MS;
    const watched = this.watched.get(key) ?? {
      scope,
      watchers: new Set(),
      live: undefined,
      bytes: 0,
      leasedUntil,
      retryAt: 0,
      retryMs: 0,
    };
    watched.leasedUntil = leasedUntil;
    this.watched.set(key, watched);
    return watched;
  }

  private drop(key: string): void {
    const { live } = this.watched.get(key) ?? {};
    this.bytes -= this.watched.get(key)?.bytes ?? 0;
    this.watched.delete(key);
    if (live) this.live.release(live);
  }

  private weigh(watched: Watched): void {
    const bytes = watched.live?.bytes ?? 0;
    this.bytes += bytes - watched.bytes;
    watched.bytes = bytes;
  }
}
