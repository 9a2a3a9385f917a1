import type { Timestamp } from 'mongodb';
import { laterOf } from '../../change-feed/cluster-time.js';
import type { Scope } from '../scope.js';

const BYTES_MAX = 8 * 1024 * 1024;
const SECONDS_MAX = 150;

/** What a note and a scope cost, beside their texts. */
const NOTE_BYTES = 120;
const SCOPE_BYTES = 300;

/** A part of the history, dropped as a whole: for each scope its changed markets, and when each changed last. */
export class HistoryPiece {
  private readonly scopes = new Map<
    Scope,
    { changedAt: Map<string, Timestamp>; newest: Timestamp }
  >();
  newest = this.first;
  bytes = 0;

  constructor(private readonly first: Timestamp) {}

  isFullAt(clusterTime: Timestamp): boolean {
    return this.bytes > BYTES_MAX || clusterTime.t - this.first.t > SECONDS_MAX;
  }

  note(scope: Scope, marketKey: string, clusterTime: Timestamp): void {
    let notes = this.scopes.get(scope);
    if (!notes) {
      notes = { changedAt: new Map(), newest: clusterTime };
      this.scopes.set(scope, notes);
      this.bytes += SCOPE_BYTES + scope.length;
    }
    const known = notes.changedAt.get(marketKey);
    if (!known) this.bytes += NOTE_BYTES + marketKey.length;
    notes.changedAt.set(marketKey, laterOf(clusterTime, known));
    notes.newest = laterOf(clusterTime, notes.newest);
    this.newest = laterOf(clusterTime, this.newest);
  }

  /** The markets of a scope that changed after a position. */
  since(scope: Scope, position: Timestamp): string[] {
    const notes = this.scopes.get(scope);
    if (!notes?.newest.greaterThan(position)) return [];
    return [...notes.changedAt].filter(([, at]) => at.greaterThan(position)).map(([key]) => key);
  }
}
