import { Injectable } from '@nestjs/common';
import type { Timestamp } from 'mongodb';
import type { CachedScope } from '../cache/cached-scope.js';

/** Callers may come back after so long, in seconds. */
const KEPT_SECONDS = 600;

const BYTES_MAX = 32 * 1024 * 1024;

/** History is dropped in pieces of a quarter of all bytes, or of so many seconds. */
const PIECE_BYTES_MAX = BYTES_MAX / 4;
const PIECE_SECONDS = 150;

/** What a note and a scope in a piece cost, beside their texts. */
const NOTE_BYTES = 120;
const SCOPE_BYTES = 300;

/** Which markets changed in which scope, and when last, over a stretch of time. */
interface Piece {
  readonly scopes: Map<string, Map<string, Timestamp>>;
  readonly first: Timestamp;
  newest: Timestamp;
  bytes: number;
}

/**
 * Which markets changed, were removed or moved, by scope, over the last minutes: what is new since a position is
 * what is noted after it. It says of itself from when on it is complete.
 */
@Injectable()
export class ChangeHistory {
  private pieces: Piece[] = [];
  private bytes = 0;
  /** All changes after it are noted, but for those that `unknownAt` speaks of. */
  begin: Timestamp | undefined;
  /** What was noted up to it has been dropped, in part or all. */
  private droppedUpTo: Timestamp | undefined;
  /** The last change of which it is not known which scopes it concerned, beside those in memory. */
  private unknownAt: Timestamp | undefined;

  /** Begins anew at a position: what was before may be noted later. */
  startAt(position: Timestamp | undefined): void {
    this.pieces = [];
    this.bytes = 0;
    this.begin = position;
    this.droppedUpTo = undefined;
    this.unknownAt = undefined;
  }

  /** Nothing that was up to a position says anything any more. */
  dropUpTo(position: Timestamp): void {
    this.startAt(position);
    this.droppedUpTo = position;
  }

  /** All that came after an earlier position has been noted, too. */
  extendTo(earlier: Timestamp): void {
    const from = newest(earlier, this.droppedUpTo);
    if (this.begin?.greaterThan(from)) this.begin = from;
  }

  /** A change that may have concerned scopes that nobody can name. */
  noteUnknown(clusterTime: Timestamp): void {
    this.unknownAt = newest(clusterTime, this.unknownAt);
  }

  /** @param idKey as in `OrderedId` */
  note(scopeKey: string, idKey: string, clusterTime: Timestamp): void {
    const piece = this.pieceFor(clusterTime);
    let ids = piece.scopes.get(scopeKey);
    const before = piece.bytes;
    if (!ids) {
      ids = new Map();
      piece.scopes.set(scopeKey, ids);
      piece.bytes += SCOPE_BYTES + scopeKey.length;
    }
    const known = ids.get(idKey);
    if (!known) piece.bytes += NOTE_BYTES + idKey.length;
    if (!known?.greaterThan(clusterTime)) ids.set(idKey, clusterTime);
    if (clusterTime.greaterThan(piece.newest)) piece.newest = clusterTime;
    this.bytes += piece.bytes - before;
    this.dropOld(clusterTime);
  }

  /** The markets that changed in a scope after a position; undefined when that is not known. */
  since(scope: CachedScope, position: Timestamp): Set<string> | undefined {
    if (!this.covers(scope, position)) return undefined;
    const ids = new Set<string>();
    for (const piece of this.pieces) {
      if (!piece.newest.greaterThan(position)) continue;
      for (const [idKey, at] of piece.scopes.get(scope.key) ?? []) {
        if (at.greaterThan(position)) ids.add(idKey);
      }
    }
    return ids;
  }

  private covers({ liveSince }: CachedScope, position: Timestamp): boolean {
    if (!this.begin || position.lessThan(this.begin)) return false;
    if (!this.unknownAt || !position.lessThan(this.unknownAt)) return true;
    return liveSince !== undefined && !position.lessThan(liveSince);
  }

  private pieceFor(clusterTime: Timestamp): Piece {
    const last = this.pieces.at(-1);
    const isFull =
      last &&
      (last.bytes > PIECE_BYTES_MAX ||
        secondsOf(clusterTime) - secondsOf(last.first) > PIECE_SECONDS);
    if (last && !isFull) return last;
    const piece = { scopes: new Map(), first: clusterTime, newest: clusterTime, bytes: 0 };
    this.pieces.push(piece);
    return piece;
  }

  private dropOld(now: Timestamp): void {
    for (let [oldest] = this.pieces; oldest; [oldest] = this.pieces) {
      const isOld = secondsOf(oldest.newest) < secondsOf(now) - KEPT_SECONDS;
      if (oldest === this.pieces.at(-1) || (!isOld && this.bytes <= BYTES_MAX)) return;
      this.pieces.shift();
      this.bytes -= oldest.bytes;
      this.droppedUpTo = newest(oldest.newest, this.droppedUpTo);
      this.begin = newest(this.droppedUpTo, this.begin);
    }
  }
}

function newest(one: Timestamp, other: Timestamp | undefined): Timestamp {
  return other?.greaterThan(one) ? other : one;
}

function secondsOf(clusterTime: Timestamp): number {
  return clusterTime.getHighBitsUnsigned();
}
