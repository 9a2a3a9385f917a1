import type { ClientSession, Db, Timestamp } from 'mongodb';
import { NotFollowable } from './feed-errors.js';

/**
 * A member of a replica set says with each answer how far it has got itself, writes of others included: that
 * proves how fresh a stream is. A mongos doesn't: it says how far the shards had got that it last heard of, and
 * another shard may have taken a write since.
 * @throws NotFollowable behind a mongos
 */
export async function demandProof(db: Db): Promise<void> {
  const { msg } = await db.command({ hello: 1 });
  if (msg === 'isdbgrid') {
    throw new NotFollowable("through a mongos it can't be known whether changes are missing");
  }
}

/**
 * The newest write of the primary, whether or not a majority has it. The `$clusterTime` of its answers may be
 * newer: a write that failed takes a time too, and other clients bring theirs.
 */
export async function newestWrite(db: Db, session: ClientSession): Promise<Timestamp | undefined> {
  const { isWritablePrimary, lastWrite } = await db.command({ hello: 1 }, { session });
  return isWritablePrimary ? lastWrite.opTime.ts : undefined;
}
