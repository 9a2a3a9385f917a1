import type { Timestamp } from 'mongodb';
import { newest, secondsOf } from '../../change-feed/cluster-time.js';

const BYTES_MAX = 8 * 1024 * 1024;
const SECONDS_MAX = 150;

/** What a note and a scope cost, beside their texts. */
const NOTE_BYTES = 120;
const SCOPE_BYTES = 300;

/** A part of the history, dropped as a whole: for each scope the markets that changed, and when each did last. */
export class HistoryPiece {
  private readonly scopes = new Map<string, Map<string, Timestamp>>();
  newest: Timestamp;
  bytes = 0;

  constructor(private readonly first: Timestamp) {
    this.newest = first;
  }

  isFullAt(clusterTime: Timestamp): boolean {
    return this.bytes > BYTES_MAX || secondsOf(clusterTime) - secondsOf(this.first) > SECONDS_MAX;
  }

  note(scopeKey: string, idKey: string, clusterTime: Timestamp): void {
    let ids = this.scopes.get(scopeKey);
    if (!ids) {
      ids = new Map();
      this.scopes.set(scopeKey, ids);
      this.bytes += SCOPE_BYTES + scopeKey.length;
    }
    const known = ids.get(idKey);
    if (!known) this.bytes += NOTE_BYTES + idKey.length;
    ids.set(idKey, newest(clusterTime, known));
    this.newest = newest(clusterTime, this.newest);
  }

  /** The markets of a scope that changed after a position. */
  since(scopeKey: string, position: Timestamp): string[] {
    if (!this.newest.greaterThan(position)) return [];
    const ids: string[] = [];
    for (const [idKey, at] of this.scopes.get(scopeKey) ?? []) {
      if (at.greaterThan(position)) ids.push(idKey);
    }
    return ids;
  }
}
