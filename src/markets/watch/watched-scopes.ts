import { Injectable } from '@nestjs/common';
import { Config } from '../../config.js';
import type { CachedScope } from '../cache/cached-scope.js';
import { LiveScopes, type ScopeOwner } from '../cache/live-scopes.js';
import type { Scope } from '../scope.js';
import type { Watch } from './watch.js';
import { WatchedScope, type ScopeWatcher } from './watched-scope.js';

/** A scope that nobody streams is kept for so long after it was asked for. Milliseconds. */
const LEASE_MS = 60_000;

/** The scopes that callers watch: held outside CACHE_MAX_MB, up to WATCH_MAX_MB. */
@Injectable()
export class WatchedScopes implements ScopeOwner {
  private readonly watched = new Map<Scope, WatchedScope>();
  /** Those that had answers when they were last weighed: only these are gone through when answers are dropped. */
  private readonly withAnswers = new Set<WatchedScope>();
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
    return [...this.watched.values()].filter(
      ({ watchers, bytes }) => watchers.size > 0 && bytes === 0,
    );
  }

  get(scope: Scope): CachedScope | undefined {
    return this.watched.has(scope) ? this.live.get(scope) : undefined;
  }

  /** Notes that scopes are asked for: they are kept for a while, and others are dropped first where room is short. */
  lease(scopes: readonly Scope[]): WatchedScope[] {
    const leasedUntil = performance.now() + LEASE_MS;
    return scopes.map((scope) => {
      const watched = this.watched.get(scope) ?? new WatchedScope(scope);
      watched.leasedUntil = leasedUntil;
      this.watched.delete(scope);
      this.watched.set(scope, watched);
      this.withAnswers.delete(watched);
      this.weigh(watched);
      return watched;
    });
  }

  watch(watcher: ScopeWatcher, { scopes }: Watch): void {
    for (const { watchers } of this.lease(scopes)) watchers.add(watcher);
  }

  unwatch(watcher: ScopeWatcher, { scopes }: Watch): void {
    for (const scope of scopes) this.watched.get(scope)?.watchers.delete(watcher);
  }

  /** Takes a scope that was loaded, unless nobody wants it any more. */
  keep(scope: CachedScope): void {
    const watched = this.watched.get(scope.key);
    if (!watched) return;
    const isNew = this.live.add(scope) === scope;
    this.weigh(watched);
    if (isNew) watched.markNew();
  }

  /** Makes room. @returns whether there is room now, and all scopes of the watch are still in memory */
  makeRoomFor({ scopes }: Watch): boolean {
    return this.makeRoom() && scopes.every((scope) => this.get(scope) !== undefined);
  }

  /**
   * Whether a key may watch this, too: one key may fill half of the room, so that others have some. Its first watch may
   * take more. A watch adds nothing if each of its scopes is watched by some other stream of the key.
   */
  isFair({ scopes }: Watch, others: () => readonly Watch[]): boolean {
    const bytesMax = this.bytesMax / 2;
    // The quick way: clients come back by the thousand.
    if (this.bytes <= bytesMax) return true;
    const held = new Set(others().flatMap((other) => other.scopes));
    if (held.size === 0 || scopes.every((scope) => held.has(scope))) return true;
    const all = [...new Set([...held, ...scopes])];
    const bytes = all.reduce((sum, scope) => sum + (this.get(scope)?.marketsBytes ?? 0), 0);
    return bytes <= bytesMax;
  }

  /** Drops scopes whose lease has ended. */
  expire(now: number): void {
    for (const watched of this.watched.values()) {
      if (watched.watchers.size === 0 && watched.leasedUntil < now) this.drop(watched);
      else this.weigh(watched);
    }
    // Look-ups may have left answers in what is watched.
    this.makeRoom();
  }

  /** A watched scope stays in memory, whoever loaded it. */
  owns({ key }: CachedScope): boolean {
    return this.watched.has(key);
  }

  changed({ key }: CachedScope): void {
    const watched = this.watched.get(key);
    if (!watched) return;
    this.weigh(watched);
    watched.markNew();
    if (this.makeRoom()) return;
    for (const watcher of watched.watchers) watcher.end('size');
  }

  private get hasRoom(): boolean {
    return this.bytes <= this.bytesMax;
  }

  /**
   * While there is too much, drops answers, which can be made again, then scopes that are only leased, those first
   * that were asked for the longest time ago.
   * @returns whether there is room now
   */
  private makeRoom(): boolean {
    for (const watched of this.withAnswers) {
      if (this.hasRoom) return true;
      this.live.get(watched.key)?.forgetAnswers();
      this.weigh(watched);
    }
    for (const watched of this.watched.values()) {
      if (this.hasRoom) return true;
      if (watched.watchers.size === 0) this.drop(watched);
    }
    return this.hasRoom;
  }

  private drop(watched: WatchedScope): void {
    const { key, bytes } = watched;
    this.bytes -= bytes;
    this.watched.delete(key);
    this.withAnswers.delete(watched);
    this.live.release(key);
  }

  private weigh(watched: WatchedScope): void {
    const live = this.live.get(watched.key);
    const bytes = live?.bytes ?? 0;
    this.bytes += bytes - watched.bytes;
    watched.bytes = bytes;
    if (live?.hasAnswers) this.withAnswers.add(watched);
    else this.withAnswers.delete(watched);
  }
}
