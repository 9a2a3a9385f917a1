import { Injectable } from '@nestjs/common';
import type { Timestamp } from 'mongodb';
import type { CachedScope } from '../cache/cached-scope.js';
import { LiveScopes, type ChangeObserver } from '../cache/live-scopes.js';
import type { MarketChange } from '../cache/market-change.js';
import { ChangeHistory } from './change-history.js';
import { PastChanges } from './past-changes.js';

/** Notes in the history what the change feed tells. */
@Injectable()
export class HistoryRecorder implements ChangeObserver {
  constructor(
    private readonly history: ChangeHistory,
    private readonly past: PastChanges,
    live: LiveScopes,
  ) {
    live.addObserver(this);
  }

  told(change: MarketChange): void {
    if (change.isOfAll) this.history.dropUpTo(change.clusterTime);
    else this.history.noteChange(change);
  }

  /** The scopes in memory know of their markets even where the change does not tell. */
  applied(scope: CachedScope, { id, clusterTime }: MarketChange): void {
    if (id) this.history.note(scope.key, id.key, clusterTime);
  }

  forgotAll(position: Timestamp | undefined): void {
    this.history.startAt(position);
    this.past.fill(position);
  }
}
