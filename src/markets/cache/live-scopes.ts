import { Injectable } from '@nestjs/common';
import type { Timestamp } from 'mongodb';
import { ChangeFeed } from '../../change-feed/change-feed.js';
import type { ChangeListener, Commit } from '../../change-feed/change.js';
import { laterOf } from '../../change-feed/cluster-time.js';
import { MARKETS } from '../../common/collections.js';
import { SCOPE_FIELDS, type Scope } from '../scope.js';
import type { CachedScope } from './cached-scope.js';
import { ChangeHistory } from './change-history.js';
import { MarketChange } from './market-change.js';

/** Who keeps scopes in memory. A scope may have several owners, which are told only of their own scopes. */
export interface ScopeOwner {
  owns(scope: CachedScope): boolean;
  /** A change was applied to a scope; or it can't be kept current, and is live no longer. */
  changed(scope: CachedScope): void;
}

/** The scopes in memory, each once, whoever owns it. Applies what the feed tells, and notes it in the history. */
@Injectable()
export class LiveScopes implements ChangeListener {
  private readonly scopes = new Map<Scope, CachedScope>();
  private readonly owners: ScopeOwner[] = [];
  readonly fieldsBefore = SCOPE_FIELDS;

  constructor(
    private readonly feed: ChangeFeed,
    private readonly history: ChangeHistory,
  ) {
    feed.listen(MARKETS, this);
  }

  addOwner(owner: ScopeOwner): void {
    this.owners.push(owner);
  }

  get(scope: Scope): CachedScope | undefined {
    return this.scopes.get(scope);
  }

  /**
   * Takes in a scope that has at least all commits that were told.
   * @returns the one that is live: another, if it was there before
   */
  add(scope: CachedScope): CachedScope {
    const earlier = this.scopes.get(scope.key);
    if (earlier) return earlier;
    scope.liveSince = laterOf(scope.asOf, this.feed.position);
    this.scopes.set(scope.key, scope);
    return scope;
  }

  /** To be called when an owner no longer wants a scope: it is removed unless another does. */
  release(key: Scope): void {
    const scope = this.scopes.get(key);
    if (scope && !this.owners.some((owner) => owner.owns(scope))) this.scopes.delete(key);
  }

  committed({ changes, clusterTime }: Commit): void {
    for (const change of changes) {
      if (change.kind === 'collectionReplaced') this.collectionReplaced(clusterTime);
      else this.apply(new MarketChange(change, clusterTime));
    }
  }

  forgetAll(position: Timestamp | undefined): void {
    this.history.startAt(position);
    for (const scope of this.scopes.values()) this.lose(scope);
  }

  private collectionReplaced(clusterTime: Timestamp): void {
    this.history.dropUpTo(clusterTime);
    for (const scope of this.scopes.values()) {
      if (clusterTime.greaterThan(scope.asOf)) this.lose(scope);
    }
  }

  private apply(change: MarketChange): void {
    this.history.noteChange(change);
    for (const scope of this.concerned(change)) {
      // An owner that was told of another scope may have released this one.
      const isLive = this.scopes.get(scope.key) === scope;
      if (!isLive || !change.clusterTime.greaterThan(scope.asOf)) continue;
      const isKept = change.applyTo(scope);
      if (!isKept) this.scopes.delete(scope.key);
      // The change itself may not name the scopes that the market was in.
      else this.history.note(scope.key, change.marketKey, change.clusterTime);
      this.tellOwners(scope);
    }
  }

  /** The scopes that the market was in, and those that it is in now; all are gone through where nobody knows. */
  private concerned({ marketKey, scopes, scopesBefore }: MarketChange): CachedScope[] {
    const named = new Set([...scopes, ...(scopesBefore ?? [])]);
    if (scopesBefore) return [...named].flatMap((key) => this.scopes.get(key) ?? []);
    return [...this.scopes.values()].filter(
      (scope) => named.has(scope.key) || scope.get(marketKey),
    );
  }

  private lose(scope: CachedScope): void {
    this.scopes.delete(scope.key);
    this.tellOwners(scope);
  }

  private tellOwners(scope: CachedScope): void {
    for (const owner of this.owners) if (owner.owns(scope)) owner.changed(scope);
  }
}
