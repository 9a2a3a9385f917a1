import type { Document, Timestamp } from 'mongodb';
import { plainDocument } from '../database/driver-options.js';
import type { ResumeToken } from './cluster-time.js';

/** What happened to one document. */
export type DocumentChange = {
  readonly id: unknown;
  /** The document before, in the fields that a listener asked for: empty if it is new, undefined if not known. */
  readonly before?: Document;
} & (
  | { readonly kind: 'stored'; readonly document: Document }
  /** An update without a post-image: only the new values of the changed fields are known. */
  | { readonly kind: 'altered'; readonly fields: Document }
  | { readonly kind: 'deleted' }
);

/** One thing that happened to a watched collection. */
export type Change =
  | DocumentChange
  /** The collection was made, dropped, renamed or put in place of another: nothing known of its documents holds. */
  | { readonly kind: 'collectionReplaced' };

/** All changes to one collection with the same cluster time: seen together or not at all. */
export interface Commit {
  readonly clusterTime: Timestamp;
  readonly changes: readonly Change[];
}

/** Somebody who is told what changes in a collection. */
export interface ChangeListener {
  /** Fields of which it wants to know what they were before a change. */
  readonly fieldsBefore?: readonly string[];
  /** Told in the order of cluster time, without gaps. */
  committed?(commit: Commit): void;
  /**
   * Changes were missed: whatever is remembered may be wrong.
   * @param position all that comes after it is told; undefined where there are no cluster times
   */
  forgetAll?(position: Timestamp | undefined): void;
}

/** What the server sends for a change, as far as it is used here. */
export interface ChangeEvent {
  readonly _id: ResumeToken;
  readonly operationType: string;
  readonly clusterTime: Timestamp;
  /** When the change was made, by MongoDB's clock. Missing where the `shape` of the stream leaves it out. */
  readonly wallTime: Date;
  readonly ns?: { readonly coll?: string };
  readonly to?: { readonly coll?: string };
  readonly documentKey?: { readonly _id: unknown };
  readonly fullDocument?: Document | null;
  readonly fullDocumentBeforeChange?: Document | null;
  readonly updateDescription?: { readonly updatedFields?: Document };
}

/** The change that an event tells of one collection. */
export function changeOf(event: ChangeEvent, collection: string): Change | undefined {
  if (event.to?.coll === collection) return { kind: 'collectionReplaced' };
  if (event.ns?.coll !== collection) return undefined;
  const earlier = event.operationType === 'insert' ? {} : event.fullDocumentBeforeChange;
  const known = { id: event.documentKey?._id, ...(earlier && { before: earlier }) };
  const document = event.fullDocument && plainDocument(event.fullDocument);
  switch (event.operationType) {
    case 'insert':
    case 'update':
    case 'replace':
      if (document) return { kind: 'stored', ...known, document };
      return { kind: 'altered', ...known, fields: event.updateDescription?.updatedFields ?? {} };
    case 'delete':
      return { kind: 'deleted', ...known };
    case 'create':
    case 'drop':
    case 'rename':
      return { kind: 'collectionReplaced' };
    default:
      return undefined;
  }
}
