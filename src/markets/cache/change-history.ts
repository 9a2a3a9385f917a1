import { Injectable } from '@nestjs/common';
import type { Timestamp } from 'mongodb';
import { laterOf } from '../../change-feed/cluster-time.js';
import type { Scope } from '../scope.js';
import type { CachedScope } from './cached-scope.js';
import { HistoryPiece } from './history-piece.js';
import type { MarketChange } from './market-change.js';

/** How long after a position callers can still be told what is new since then. */
export const KEPT_SECONDS = 600;
const BYTES_MAX = 32 * 1024 * 1024;

/**
 * Which markets changed, were removed or moved in each scope during the last minutes. What is new since a position is
 * what was noted after it.
 */
@Injectable()
export class ChangeHistory {
  private pieces: HistoryPiece[] = [];
  /** Changes after it are noted in all scopes; those up to `unknownAt` only in scopes that were in memory then. */
  begin: Timestamp | undefined;
  /** Notes up to it were dropped, so that `begin` can't become earlier. */
  private droppedUpTo: Timestamp | undefined;
  /** The last change that did not tell in which scopes its market had been: of these, those in memory were noted. */
  private unknownAt: Timestamp | undefined;

  /** Begins anew at a position. Earlier changes may be noted later. */
  startAt(position: Timestamp | undefined): void {
    this.pieces = [];
    this.begin = position;
    this.droppedUpTo = undefined;
    this.unknownAt = undefined;
  }

  /** Drops everything up to a position for good. */
  dropUpTo(position: Timestamp): void {
    this.startAt(position);
    this.droppedUpTo = position;
  }

  /** To be called when all changes after an earlier position have been noted, too. */
  extendTo(earlier: Timestamp): void {
    const from = laterOf(earlier, this.droppedUpTo);
    if (this.begin?.greaterThan(from)) this.begin = from;
  }

  /** Notes a change in the scopes that it names. */
  noteChange(change: MarketChange): void {
    const { clusterTime, marketKey, scopes, scopesBefore } = change;
    for (const scope of [...scopes, ...(scopesBefore ?? [])])
      this.note(scope, marketKey, clusterTime);
    if (!scopesBefore) this.unknownAt = laterOf(clusterTime, this.unknownAt);
  }

  /** @param marketKey of `keyOfId` */
  note(scope: Scope, marketKey: string, clusterTime: Timestamp): void {
    let piece = this.pieces.at(-1);
    if (!piece || piece.isFullAt(clusterTime)) {
      piece = new HistoryPiece(clusterTime);
      this.pieces.push(piece);
    }
    piece.note(scope, marketKey, clusterTime);
    this.dropOld(clusterTime.t - KEPT_SECONDS);
  }

  /** The markets that changed in a scope after a position; undefined when that is not known. */
  since(scope: CachedScope, position: Timestamp): Set<string> | undefined {
    if (!this.covers(scope, position)) return undefined;
    return new Set(this.pieces.flatMap((piece) => piece.since(scope.key, position)));
  }

  /** Whether it goes back to a position. */
  reaches(position: Timestamp): boolean {
    return this.begin !== undefined && !position.lessThan(this.begin);
  }

  private covers({ liveSince }: CachedScope, position: Timestamp): boolean {
    if (!this.reaches(position)) return false;
    if (!this.unknownAt || !position.lessThan(this.unknownAt)) return true;
    return liveSince !== undefined && !position.lessThan(liveSince);
  }

  private dropOld(beforeSecond: number): void {
    let bytes = this.pieces.reduce((sum, piece) => sum + piece.bytes, 0);
    while (this.pieces.length > 1) {
      // The oldest piece need not be the first: after a start, earlier changes are noted after later ones.
      const oldest = this.pieces.reduce((one, other) =>
        other.newest.lessThan(one.newest) ? other : one,
      );
      if (oldest.newest.t >= beforeSecond && bytes <= BYTES_MAX) return;
      this.pieces.splice(this.pieces.indexOf(oldest), 1);
      bytes -= oldest.bytes;
      this.droppedUpTo = laterOf(oldest.newest, this.droppedUpTo);
      this.begin = laterOf(this.droppedUpTo, this.begin);
    }
  }
}
