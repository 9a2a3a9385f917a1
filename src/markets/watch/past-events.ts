import type { Db, Document, Timestamp } from 'mongodb';
import { changeBatches, onlyFieldsBefore } from '../../change-feed/change-stream.js';
import type { ChangeEvent } from '../../change-feed/change.js';
import { clusterTimeOf } from '../../change-feed/cluster-time.js';
import { MARKETS } from '../../common/collections.js';
import { SCOPE_FIELDS } from '../scope.js';

/** Only these parts of an event are sent: its kind, its time, and the market's scopes before and after it. */
const SHAPE: readonly Document[] = [
  ...onlyFieldsBefore(SCOPE_FIELDS),
  {
    $project: {
      operationType: 1,
      clusterTime: 1,
      ns: 1,
      to: 1,
      documentKey: 1,
      fullDocumentBeforeChange: 1,
      ...Object.fromEntries(SCOPE_FIELDS.map((field) => [`fullDocument.${field}`, 1])),
    },
  },
];

/** Reads from MongoDB's own log what happened to the markets after a cluster time, up to another, in batches. */
export async function* readPastEvents(
  db: Db,
  from: Timestamp,
  until: Timestamp,
): AsyncGenerator<readonly ChangeEvent[]> {
  // Expanded events tell that the collection was made: what a cursor from before that stands for was elsewhere.
  const start = { startAtOperationTime: from, showExpandedEvents: true };
  const options = { collections: [MARKETS], start, shape: SHAPE };
  for await (const { events, resumeToken } of changeBatches(db, options)) {
    yield events;
    const readUpTo = clusterTimeOf(resumeToken);
    // More events of the last transaction may follow, as long as there are some.
    if (readUpTo.greaterThan(until) || (events.length === 0 && readUpTo.equals(until))) return;
  }
}
