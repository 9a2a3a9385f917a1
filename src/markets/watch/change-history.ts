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
export class ChangeHistory {
  private pieces: Piece[] = [];
  private bytes = 0;
  /** All changes after it are noted, but for those that `unknownAt` speaks of. */
  private begin: Timestamp | undefined;
  /** The last change of which it is not known which scopes it concerned, beside those in memory. */
  private unknownAt: Timestamp | undefined;

  /** Another one whenever something was dropped. */
  private epoch = 0;

  stateNow(): { readonly begin: Timestamp | undefined; readonly epoch: number } {
    return { begin: this.begin, epoch: this.epoch };
  }

  /** Begins anew: nothing is known of what was up to a position. */
  startAt(position: Timestamp | undefined): void {
    this.pieces = [];
    this.bytes = 0;
    this.begin = position;
    this.unknownAt = undefined;
    this.epoch += 1;
  }

  /**
   * All that came after an earlier position has been noted, too.
   * @param epoch as it was when noting began: what was dropped meanwhile may be part of it
   */
  extendTo(earlier: Timestamp, epoch: number): void {
    if (epoch === this.epoch && this.begin?.greaterThan(earlier)) this.begin = earlier;
  }

  /** A change that may have concerned scopes that nobody can name. */
  noteUnknown(clusterTime: Timestamp): void {
    if (!this.unknownAt?.greaterThan(clusterTime)) this.unknownAt = clusterTime;
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
    for (const { scopes, newest } of this.pieces) {
      if (!newest.greaterThan(position)) continue;
      for (const [idKey, at] of scopes.get(scope.key) ?? []) {
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
      this.epoch += 1;
      if (!this.begin?.greaterThan(oldest.newest)) this.begin = oldest.newest;
    }
  }
}

function secondsOf(clusterTime: Timestamp): number {
  return clusterTime.getHighBitsUnsigned();
}
