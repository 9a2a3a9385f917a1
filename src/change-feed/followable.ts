import { BSON, type Db } from 'mongodb';
import type { ChangeEvent } from './change.js';

/** Changes can't be followed reliably here, and trying again soon does not help. */
class NotFollowable extends Error {}

/** Codes of errors after which a stream can't resume, such as an event that is too large for a reply. */
const CANNOT_RESUME = new Set([260, 280, 286, 222, 50811, 10334]);

/**
 * A member of a replica set says with each reply how far it has got itself, writes of others included: that
 * proves how fresh a stream is. A mongos doesn't: it says how far the shards had got that it last heard of, and
 * another shard may have taken a write since.
 * @throws NotFollowable behind a mongos
 */
export async function refuseMongos(db: Db): Promise<void> {
  const { msg } = await db.command({ hello: 1 });
  if (msg === 'isdbgrid') {
    throw new NotFollowable("through a mongos it can't be known whether changes are missing");
  }
}

/**
 * Makes sure that only plain collections are followed: change streams tell nothing of views and time series, nor
 * that one was made under a name that was free.
 * @returns the names that are still free
 * @throws NotFollowable when one is no plain collection
 */
export async function requirePlainCollections(
  names: readonly string[],
  db: Db,
): Promise<readonly string[]> {
  if (names.length === 0) return names;
  // By names alone, which needs no other privilege than to read them.
  const found = await db
    .listCollections({ name: { $in: names } }, { nameOnly: true, authorizedCollections: true })
    .toArray();
  const other = found.find(({ type }) => type !== 'collection');
  if (other) {
    throw new NotFollowable(`MongoDB tells no changes of ${other.name}, which is a ${other.type}`);
  }
  return names.filter((name) => !found.some((each) => each.name === name));
}

/** Whether a name may be that of another kind of collection now, after a drop or a rename: these are of no document. */
export function mayChangeKinds(events: readonly ChangeEvent[]): boolean {
  return events.some(({ documentKey }) => !documentKey);
}

/** Whether the feed must begin anew after an error, since it can't resume. */
export function endsResumption(error: unknown): boolean {
  // The driver can't read some values that others store: it would fail at the same event again.
  if (error instanceof NotFollowable || error instanceof BSON.BSONError) return true;
  return CANNOT_RESUME.has(Number((error as { code?: unknown }).code));
}
