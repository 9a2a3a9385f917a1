import type { Timestamp } from 'mongodb';
import { newest } from '../../change-feed/cluster-time.js';
import type { Scope } from '../scope.js';

const BYTES_MAX = 8 * 1024 * 1024;
const SECONDS_MAX = 150;

/** What a note and a scope cost, beside their texts. */
const NOTE_BYTES = 120;
const SCOPE_BYTES = 300;

/** A part of the history, dropped as a whole: for each scope the markets that changed, and when each did last. */
export class HistoryPiece {
  private readonly scopes = new Map<Scope, { ids: Map<string, Timestamp>; newest: Timestamp }>();
  newest = this.first;
  bytes = 0;

  constructor(private readonly first: Timestamp) {}

  isFullAt(clusterTime: Timestamp): boolean {
    return this.bytes > BYTES_MAX || clusterTime.t - this.first.t > SECONDS_MAX;
  }

  note(scope: Scope, marketKey: string, clusterTime: Timestamp): void {
    let notes = this.scopes.get(scope);
    if (!notes) {
      notes = { ids: new Map(), newest: clusterTime };
      this.scopes.set(scope, notes);
      this.bytes += SCOPE_BYTES + scope.length;
    }
    const known = notes.ids.get(marketKey);
    if (!known) this.bytes += NOTE_BYTES + marketKey.length;
    notes.ids.set(marketKey, newest(clusterTime, known));
    notes.newest = newest(clusterTime, notes.newest);
    this.newest = newest(clusterTime, this.newest);
  }

  /** The markets of a scope that changed after a position. */
  since(scope: Scope, position: Timestamp): string[] {
    const notes = this.scopes.get(scope);
    if (!notes?.newest.greaterThan(position)) return [];
    return [...notes.ids].filter(([, at]) => at.greaterThan(position)).map(([key]) => key);
  }
}
