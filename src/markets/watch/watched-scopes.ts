import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { Config } from '../../config.js';
import { READ_BUDGET_MS } from '../../database/bounded-reads.js';
import { overloaded } from '../../http/overload/overloaded.js';
import { Problem } from '../../http/problem.js';
import type { CachedScope } from '../cache/cached-scope.js';
import { LiveScopes, type ScopeOwner } from '../cache/live-scopes.js';
import {
  MARKETS_MAX,
  MARKETS_TOGETHER_MAX,
  ScopeLoader,
  type Unfit,
} from '../cache/scope-loader.js';
import { scopeKey, type Scope } from '../scope.js';
import { tooMuchData } from './watch-problems.js';
import type { Watch } from './watch.js';

/** A scope that nobody streams stays for so long after it was asked for. Milliseconds. */
const LEASE_MS = 60_000;

const SWEEP_EVERY_MS = 5_000;

const RELOAD_AGAIN_AFTER_MS = 250;

const LOADS_MAX = 3;

/** A scope that is watched: pinned by streams, or leased for a while. */
interface Watched {
  readonly scope: Scope;
  live: CachedScope | undefined;
  bytes: number;
  pins: number;
  leasedUntil: number;
}

/** Told of each watched scope that changed, could no longer be kept current, or is there again. */
export type WatchListener = (key: string) => void;

/** The scopes that callers watch: loaded at once, held outside CACHE_MAX_MB up to WATCH_MAX_MB. */
@Injectable()
export class WatchedScopes implements ScopeOwner, OnApplicationShutdown {
  private readonly logger = new Logger(WatchedScopes.name);
  private readonly watched = new Map<string, Watched>();
  private readonly bytesMax: number;
  private readonly sweeper: NodeJS.Timeout;
  private ended = false;
  bytes = 0;
  listener: WatchListener = () => undefined;

  constructor(
    private readonly live: LiveScopes,
    private readonly loader: ScopeLoader,
    { watchMaxMb }: Config,
  ) {
    this.bytesMax = watchMaxMb * 1024 * 1024;
    live.addOwner(this);
    this.sweeper = setInterval(() => this.sweep(performance.now()), SWEEP_EVERY_MS).unref();
  }

  private get isTooLarge(): boolean {
    return this.bytes > this.bytesMax;
  }

  /** A scope that is current, if it can be. */
  get(key: string): CachedScope | undefined {
    return this.watched.get(key)?.live;
  }

  /** Whether a watch has grown above what may be watched. */
  isOver({ keys }: Watch): boolean {
    const lengths = keys.map((key) => this.get(key)?.length ?? 0);
    const all = lengths.reduce((sum, length) => sum + length, 0);
    return all > MARKETS_TOGETHER_MAX || lengths.some((length) => length > MARKETS_MAX);
  }

  /** Lets leased scopes go while there is too much. @returns whether there is room now */
  makeRoom(wanted: ReadonlySet<string>): boolean {
    for (const [key, { pins }] of this.watched) {
      if (!this.isTooLarge) return true;
      if (pins === 0 && !wanted.has(key)) this.drop(key);
    }
    return !this.isTooLarge;
  }

  /**
   * Has all scopes of a watch in memory, for a while.
   * @returns false when they are not fit for it
   * @throws Problem when there is too much to hold, or MongoDB can't answer
   */
  async lease({ scopes, keys, fitsMemory }: Watch): Promise<boolean> {
    if (!fitsMemory) return false;
    for (let loads = 0; loads < LOADS_MAX; loads += 1) {
      this.note(scopes, { pins: 0 });
      const missing = scopes.filter((scope) => !this.take(scopeKey(scope)));
      if (missing.length === 0) {
        this.demandRoom(new Set(keys));
        demandFew(scopes, (key) => this.get(key));
        return true;
      }
      const unfit = await this.load(missing);
      for (const scope of missing) {
        const why = unfit.get(scopeKey(scope));
        if (why === 'too large') throw tooLarge(scope);
        if (why === 'unordered') return false;
      }
    }
    return false;
  }

  pin({ scopes }: Watch): void {
    this.note(scopes, { pins: 1 });
  }

  unpin({ scopes }: Watch): void {
    this.note(scopes, { pins: -1 });
  }

  owns(scope: CachedScope): boolean {
    return this.watched.get(scope.key)?.live === scope;
  }

  changed(scope: CachedScope): void {
    const watched = this.watched.get(scope.key);
    if (watched?.live !== scope) return;
    this.weigh(watched, scope.bytes);
    this.listener(scope.key);
  }

  lost(scope: CachedScope): void {
    const watched = this.watched.get(scope.key);
    if (watched?.live !== scope) return;
    watched.live = undefined;
    this.weigh(watched, 0);
    if (watched.pins === 0) this.watched.delete(scope.key);
    else void this.reload(watched, scope.key);
    this.listener(scope.key);
  }

  onApplicationShutdown(): void {
    this.ended = true;
    clearInterval(this.sweeper);
  }

  private note(scopes: readonly Scope[], { pins }: { readonly pins: number }): void {
    const leasedUntil = performance.now() + LEASE_MS;
    for (const scope of scopes) {
      const key = scopeKey(scope);
      const watched = this.watched.get(key) ?? {
        scope,
        live: undefined,
        bytes: 0,
        pins: 0,
        leasedUntil,
      };
      watched.pins += pins;
      watched.leasedUntil = leasedUntil;
      this.watched.set(key, watched);
    }
  }

  /** Takes over a scope that is in memory already. */
  private take(key: string): boolean {
    const watched = this.watched.get(key);
    const live = this.live.get(key);
    if (!watched || !live || live.length > MARKETS_MAX) return false;
    watched.live = live;
    this.weigh(watched, live.bytes);
    return true;
  }

  /** Those that are too large together are loaded one by one, to learn which it is. */
  private async load(scopes: readonly Scope[]): Promise<ReadonlyMap<string, Unfit>> {
    const keep = (scope: CachedScope) => {
      this.live.add(scope);
      if (!this.take(scope.key)) this.live.release(scope);
    };
    const unfit = await this.loader.load(scopes, READ_BUDGET_MS.markets, keep);
    const isTooLarge = [...unfit.values()].includes('too large');
    if (scopes.length === 1 || !isTooLarge) return unfit;
    for (const [index, scope] of scopes.entries()) {
      const why = await this.loader.load([scope], READ_BUDGET_MS.markets, keep);
      if (why.size > 0) return why;
      demandFew(scopes.slice(0, index + 1), (key) => this.get(key));
    }
    return new Map();
  }

  private async reload(watched: Watched, key: string): Promise<void> {
    while (!this.ended && watched.pins > 0 && this.watched.get(key) === watched && !watched.live) {
      const unfit = await this.load([watched.scope]).catch((error: unknown) => this.failed(error));
      if (unfit?.size === 0) this.listener(key);
      else await delay(RELOAD_AGAIN_AFTER_MS);
    }
  }

  private failed(error: unknown): undefined {
    if (error instanceof Problem) return;
    this.logger.error({ err: error }, 'A watched scope could not be loaded');
  }

  private demandRoom(wanted: ReadonlySet<string>): void {
    if (this.makeRoom(wanted)) return;
    for (const key of wanted) if (this.watched.get(key)?.pins === 0) this.drop(key);
    throw overloaded();
  }

  private sweep(now: number): void {
    for (const [key, { pins, leasedUntil }] of this.watched) {
      if (pins === 0 && leasedUntil < now) this.drop(key);
    }
  }

  private drop(key: string): void {
    const watched = this.watched.get(key);
    if (!watched) return;
    this.watched.delete(key);
    this.weigh(watched, 0);
    if (watched.live) this.live.release(watched.live);
  }

  private weigh(watched: Watched, bytes: number): void {
    this.bytes += bytes - watched.bytes;
    watched.bytes = bytes;
  }
}

function tooLarge(scope: Scope): Problem {
  return tooMuchData(scope, `has more than ${MARKETS_MAX} markets`);
}

/** @throws Problem naming the scope with which all together are too many */
function demandFew(
  scopes: readonly Scope[],
  liveOf: (key: string) => CachedScope | undefined,
): void {
  let count = 0;
  for (const scope of scopes) {
    count += liveOf(scopeKey(scope))?.length ?? 0;
    if (count > MARKETS_TOGETHER_MAX) {
      throw tooMuchData(
        scope,
        `with it there are more than ${MARKETS_TOGETHER_MAX} markets in all`,
      );
    }
  }
}
