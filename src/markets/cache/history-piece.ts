import type { Timestamp } from 'mongodb';
import { newest } from '../../change-feed/cluster-time.js';

const BYTES_MAX = 8 * 1024 * 1024;
const SECONDS_MAX = 150;

/** What a note and a scope cost, beside their texts. */
const NOTE_BYTES = 120;
const SCOPE_BYTES = 300;

/** A part of the history, dropped as a whole: for each scope the markets that changed, and when each did last. */
export class HistoryPiece {
  private readonly scopes = new Map<string, { ids: Map<string, Timestamp>; newest: Timestamp }>();
  newest = this.first;
  bytes = 0;

  constructor(private readonly first: Timestamp) {}

  isFullAt(clusterTime: Timestamp): boolean {
    return this.bytes > BYTES_MAX || clusterTime.t - this.first.t > SECONDS_MAX;
  }

  note(scopeKey: string, marketKey: string, clusterTime: Timestamp): void {
    let scope = this.scopes.get(scopeKey);
    if (!scope) {
      scope = { ids: new Map(), newest: clusterTime };
      this.scopes.set(scopeKey, scope);
      this.bytes += SCOPE_BYTES + scopeKey.length;
    }
    const known = scope.ids.get(marketKey);
    if (!known) this.bytes += NOTE_BYTES + marketKey.length;
    scope.ids.set(marketKey, newest(clusterTime, known));
    scope.newest = newest(clusterTime, scope.newest);
    this.newest = newest(clusterTime, this.newest);
  }

  /** The markets of a scope that changed after a position. */
  since(scopeKey: string, position: Timestamp): string[] {
    const scope = this.scopes.get(scopeKey);
    if (!scope?.newest.greaterThan(position)) return [];
    return [...scope.ids].filter(([, at]) => at.greaterThan(position)).map(([key]) => key);
  }
}
