import { Injectable } from '@nestjs/common';
import { READ_BUDGET_MS } from '../../database/bounded-reads.js';
import { ScopeLoader, type Loaded } from '../cache/scope-loader.js';
import { scopeKey, type Scope } from '../scope.js';
import { WatchedScopes } from './watched-scopes.js';

const BOUNDS = { budgetMs: READ_BUDGET_MS.markets, inOneReply: false };

/** Loads scopes that are watched, each once at a time: after a restart many ask for the same at once. */
@Injectable()
export class WatchLoader {
  /** By the key of each scope that is being loaded, the load. */
  private readonly loads = new Map<string, Promise<ReadonlyMap<string, Loaded>>>();

  constructor(
    private readonly loader: ScopeLoader,
    private readonly watched: WatchedScopes,
  ) {}

  /**
   * Loads those that are not being loaded, and waits for all.
   * @returns by the key of each scope, what became of it
   * @throws Problem when MongoDB can't answer (in time)
   */
  async load(scopes: readonly Scope[]) {
    this.begin(scopes.filter((scope) => !this.loads.has(scopeKey(scope))));
    const loaded = scopes.map(async (scope) => {
      const key = scopeKey(scope);
      return [key, (await this.loads.get(key))?.get(key)] as const;
    });
    return new Map(await Promise.all(loaded));
  }

  private begin(scopes: readonly Scope[]): void {
    if (scopes.length === 0) return;
    const keys = scopes.map(scopeKey);
    const load = this.loader
      .load(scopes, BOUNDS, (made) => this.watched.keep(made))
      .finally(() => {
        for (const key of keys) this.loads.delete(key);
      });
    for (const key of keys) this.loads.set(key, load);
  }
}
