import { MongoServerError, type Db } from 'mongodb';
import type { Connection } from 'mongoose';
import { changeBatches } from '../change-feed/change-stream.js';
import { refuseMongos, requirePlainCollections } from '../change-feed/followable.js';
import { COLLECTIONS, MARKETS } from '../common/collections.js';
import { messageOf } from '../common/text.js';
import { dbOf } from '../database/connection.js';
import { hasIndex, wantedIndexes, type WantedIndex } from '../database/indexes.js';
import { collectionOptions, hasImages } from '../database/init.js';
import { isRetryable } from '../database/mongo-errors.js';
import { newestChange, type NewestInOplog } from './newest-change.js';

/** Commands go to the primary, and there may be none. */
const OF_ANY_MEMBER = { readPreference: 'primaryPreferred' } as const;

/** Null stands for what the user may not see. */
export type DatabaseStatus = Awaited<ReturnType<typeof databaseStatus>>;

export async function databaseStatus(connection: Connection) {
  const db = dbOf(connection);
  const build = await visible(db.command({ buildInfo: 1 }, OF_ANY_MEMBER));
  const serverVersion: string | null = build?.['version'] ?? null;
  const wanted = wantedIndexes(connection);
  return {
    database: db.databaseName,
    serverVersion,
    topology: await topologyOf(db),
    collections: await Promise.all(COLLECTIONS.map((name) => collectionStatus(db, name))),
    indexes: await Promise.all(wanted.map((index) => indexStatus(db, index))),
    ...(await changeFeedStatus(db)),
  };
}

async function topologyOf(db: Db) {
  const hello = await db.command({ hello: 1 }, OF_ANY_MEMBER);
  if (hello['msg'] === 'isdbgrid') return { type: 'sharded' };
  if (!hello['setName']) return { type: 'standalone' };
  const replicaSet: string = hello['setName'];
  const set = await visible(db.admin().command({ replSetGetStatus: 1 }, OF_ANY_MEMBER));
  const seen: { name: string; stateStr: string }[] | undefined = set?.['members'];
  const members = seen?.map(({ name, stateStr }) => ({ name, state: stateStr })) ?? null;
  return { type: 'replica set', replicaSet, members };
}

async function collectionStatus(db: Db, name: string) {
  const options = await visible(collectionOptions(db, name));
  const isHidden = options === null;
  return {
    name,
    exists: isHidden ? null : options !== undefined,
    estimatedCount: await visible(db.collection(name).estimatedDocumentCount()),
    ...(name === MARKETS && { preAndPostImages: isHidden ? null : hasImages(options) }),
  };
}

async function indexStatus(db: Db, wanted: WantedIndex) {
  const { collection, name } = wanted;
  return { collection, name, present: await visible(hasIndex(db, wanted)) };
}

/**
 * Follows changes of markets for a moment: only that shows whether topology, privileges and version allow it. An
 * election in the midst of it says nothing, so it is tried once more.
 */
async function changeFeedStatus(db: Db) {
  for (let isAgain = false; ; isAgain = true) {
    let newest: NewestInOplog | null = null;
    try {
      // Not by `newestChange` alone: where the oplog is young, that ends before MongoDB says what it can't do.
      const batches = changeBatches(db, { collections: [MARKETS], start: {} });
      await batches.next();
      await batches.return(undefined);
      newest = await newestChange(db, MARKETS);
      await refuseMongos(db);
      await requirePlainCollections(COLLECTIONS, db);
      return { newestChange: newest, changeFeed: { on: true } };
    } catch (error) {
      if (!isAgain && isRetryable(error)) continue;
      return { newestChange: newest, changeFeed: { on: false, reason: messageOf(error) } };
    }
  }
}

/** Null for what MongoDB refuses to show; a failure of the connection stays one. */
async function visible<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof MongoServerError) return null;
    throw error;
  }
}
