import { Injectable } from '@nestjs/common';
import { InjectModel } from '@nestjs/mongoose';
import type { Timestamp } from 'mongodb';
import type { Model } from 'mongoose';
import { ChangeFeed } from '../../change-feed/change-feed.js';
import type { ChangeListener, Commit } from '../../change-feed/change.js';
import { Market } from '../market.schema.js';
import { SCOPE_FIELDS } from '../scope.js';
import type { CachedScope } from './cached-scope.js';
import type { OrderedId } from './id-order.js';
import { MarketChange } from './market-change.js';

/** Who wants scopes kept current, and says for how long. */
export interface ScopeOwner {
  owns(scope: CachedScope): boolean;
  /** A change was applied to a scope, whoever owns it. */
  changed(scope: CachedScope): void;
  /** A scope can't be kept current: it is live no longer. */
  lost(scope: CachedScope): void;
}

/** Who wants to know of all changes, before scopes do. */
export interface ChangeObserver {
  told(change: MarketChange): void;
  /** One was applied to a scope, which may know what the change does not tell. */
  applied(scope: CachedScope, change: MarketChange): void;
  /** Changes were missed, up to a position. */
  forgotAll(position: Timestamp | undefined): void;
}

/** The scopes in memory, which the change feed keeps current: each is there once, whoever owns it. */
@Injectable()
export class LiveScopes implements ChangeListener {
  private readonly scopes = new Map<string, CachedScope>();
  /** The scopes that hold a market, by its id: one or two, for which a set would be large. */
  private readonly holders = new Map<string, readonly CachedScope[]>();
  private readonly owners: ScopeOwner[] = [];
  private readonly observers: ChangeObserver[] = [];
  readonly fieldsBefore = SCOPE_FIELDS;

  constructor(
    @InjectModel(Market.name) markets: Model<Market>,
    private readonly feed: ChangeFeed,
  ) {
    feed.listen(markets.collection.name, this);
  }

  /** Markets noted as held by scopes: each market once for each scope that it is in. */
  get holdings(): number {
    return [...this.holders.values()].reduce((sum, { length }) => sum + length, 0);
  }

  addOwner(owner: ScopeOwner): void {
    this.owners.push(owner);
  }

  addObserver(observer: ChangeObserver): void {
    this.observers.push(observer);
  }

  get(key: string): CachedScope | undefined {
    return this.scopes.get(key);
  }

  /**
   * Takes in a scope that is current as of the last commit that was told.
   * @returns the one that is live: another, if it was there before
   */
  add(scope: CachedScope): CachedScope {
    const earlier = this.scopes.get(scope.key);
    if (earlier) return earlier;
    scope.liveSince = this.feed.position;
    this.scopes.set(scope.key, scope);
    for (const id of scope.ids) this.noteHolder(scope, id);
    return scope;
  }

  /** An owner no longer wants a scope: it goes unless another does. */
  release(scope: CachedScope): void {
    if (!this.owners.some((owner) => owner.owns(scope))) this.remove(scope);
  }

  committed({ changes, clusterTime }: Commit): void {
    for (const change of changes) this.apply(new MarketChange(change, clusterTime));
  }

  forgetAll(position: Timestamp | undefined): void {
    for (const observer of this.observers) observer.forgotAll(position);
    for (const scope of this.scopes.values()) this.lose(scope);
  }

  private apply(change: MarketChange): void {
    for (const observer of this.observers) observer.told(change);
    for (const scope of this.concerned(change)) {
      // An owner that was told of another scope may have let this one go.
      const isLive = this.scopes.get(scope.key) === scope;
      if (!isLive || !change.clusterTime.greaterThan(scope.asOf)) continue;
      if (change.applyTo(scope)) {
        if (change.id) this.noteHolder(scope, change.id);
        for (const observer of this.observers) observer.applied(scope, change);
        for (const owner of this.owners) owner.changed(scope);
      } else {
        this.lose(scope);
      }
    }
  }

  /** The scopes that hold the market, and those that it belongs to now. */
  private concerned(change: MarketChange): Set<CachedScope> {
    if (change.concernsAll) return new Set(this.scopes.values());
    const scopes = new Set(change.id && this.holders.get(change.id.key));
    for (const key of change.scopeKeys) {
      const scope = this.scopes.get(key);
      if (scope) scopes.add(scope);
    }
    return scopes;
  }

  private noteHolder(scope: CachedScope, id: OrderedId): void {
    const holders = this.holders.get(id.key) ?? [];
    if (scope.has(id) === holders.includes(scope)) return;
    if (scope.has(id)) this.holders.set(id.key, [...holders, scope]);
    else this.dropHolder(scope, id);
  }

  private dropHolder(scope: CachedScope, { key }: OrderedId): void {
    const others = this.holders.get(key)?.filter((holder) => holder !== scope) ?? [];
    if (others.length > 0) this.holders.set(key, others);
    else this.holders.delete(key);
  }

  private lose(scope: CachedScope): void {
    this.remove(scope);
    for (const owner of this.owners) owner.lost(scope);
  }

  private remove(scope: CachedScope): void {
    if (this.scopes.get(scope.key) !== scope) return;
    this.scopes.delete(scope.key);
    for (const id of scope.ids) this.dropHolder(scope, id);
  }
}
