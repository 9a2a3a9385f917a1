import { Injectable } from '@nestjs/common';
import { ChangeFeed } from '../../change-feed/change-feed.js';
import type { CachedScope } from '../cache/cached-scope.js';
import { LiveScopes, type ChangeObserver, type ScopeOwner } from '../cache/live-scopes.js';
import type { MarketChange } from '../cache/market-change.js';
import { ChangeHistory } from './change-history.js';

/** Marks an id of a kind that memory can't order: its text follows. */
const UNORDERED = '?';

/** Notes in the history what the change feed tells. */
@Injectable()
export class HistoryRecorder implements ScopeOwner, ChangeObserver {
  readonly history = new ChangeHistory();
  private isNew = true;

  constructor(
    private readonly feed: ChangeFeed,
    live: LiveScopes,
  ) {
    live.addObserver(this);
    live.addOwner(this);
  }

  /** Where the history begins, and with whom it does: undefined before the feed has begun. */
  get state(): ReturnType<ChangeHistory['stateNow']> {
    this.begin();
    return this.history.stateNow();
  }

  told(change: MarketChange): void {
    this.begin();
    if (change.isOfAll) this.history.startAt(change.clusterTime);
    else noteIn(this.history, change);
  }

  /** The scopes in memory know of their markets even where the change does not tell. */
  changed(scope: CachedScope, { id, clusterTime }: MarketChange): void {
    if (id) this.history.note(scope.key, id.key, clusterTime);
  }

  forgotAll(): void {
    this.history.startAt(undefined);
    this.isNew = true;
  }

  owns(): boolean {
    return false;
  }

  lost(): void {
    // What was noted of it still holds.
  }

  /** The feed has a position only once it has forgotten all. */
  private begin(): void {
    if (!this.isNew || !this.feed.position) return;
    this.history.startAt(this.feed.position);
    this.isNew = false;
  }
}

/** Notes a change of one market in all scopes that it tells of. */
export function noteIn(history: ChangeHistory, change: MarketChange): void {
  const { clusterTime, id, idText, scopeKeys, scopeKeysBefore } = change;
  const idKey = id?.key ?? UNORDERED + idText;
  for (const key of [...scopeKeys, ...(scopeKeysBefore ?? [])]) {
    history.note(key, idKey, clusterTime);
  }
  if (!scopeKeysBefore || change.concernsAll) history.noteUnknown(clusterTime);
}

/** The id of a note as callers see it. */
export function textOfKey(idKey: string): string {
  return /^[ns?]/.test(idKey) ? idKey.slice(1) : idKey;
}
