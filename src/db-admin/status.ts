import { MongoServerError, type Db, type Document } from 'mongodb';
import type { Connection } from 'mongoose';
import { demandProof } from '../change-feed/proof.js';
import { messageOf } from '../common/command.js';
import {
  collectionNames,
  collectionOptions,
  hasImages,
  IMAGE_COLLECTIONS,
  servesAs,
  wantedIndexes,
} from '../database/init.js';
import { newestChange, type NewestChange } from './newest-change.js';

/** Null stands for what the user may not see. */
export interface DatabaseStatus {
  readonly database: string;
  readonly serverVersion: string | null;
  readonly topology: Topology;
  readonly collections: readonly CollectionStatus[];
  readonly indexes: readonly IndexStatus[];
  /** Whether changes are told as they happen, and why not. */
  readonly changeFeed: { readonly on: boolean; readonly reason?: string };
  /** Of markets; null where changes can't be followed. */
  readonly newestChange: NewestChange | null;
}

interface Topology {
  readonly type: 'standalone' | 'replica set' | 'sharded';
  readonly replicaSet?: string;
  readonly members?: readonly { name: string; state: string }[] | null;
}

interface CollectionStatus {
  readonly name: string;
  readonly exists: boolean | null;
  readonly estimatedCount: number | null;
  /** Left out where they are not needed. */
  readonly preAndPostImages?: boolean | null;
}

interface IndexStatus {
  readonly collection: string;
  readonly name: string;
  readonly present: boolean | null;
}

const NAMESPACE_NOT_FOUND = 26;

export async function databaseStatus(connection: Connection): Promise<DatabaseStatus> {
  const { db } = connection;
  if (!db) throw new Error('not connected to MongoDB');
  const names = collectionNames(connection);
  const build = await visible(db.command({ buildInfo: 1 }));
  return {
    database: db.databaseName,
    serverVersion: build?.['version'] ?? null,
    topology: await topologyOf(db),
    collections: await Promise.all(names.map((name) => collectionStatus(db, name))),
    indexes: await indexStatus(db, connection),
    ...(await changeFeedStatus(db)),
  };
}

async function topologyOf(db: Db): Promise<Topology> {
  const hello = await db.command({ hello: 1 });
  if (hello['msg'] === 'isdbgrid') return { type: 'sharded' };
  if (!hello['setName']) return { type: 'standalone' };
  const set = await visible(db.admin().command({ replSetGetStatus: 1 }));
  const seen: { name: string; stateStr: string }[] | undefined = set?.['members'];
  const members = seen?.map(({ name, stateStr }) => ({ name, state: stateStr })) ?? null;
  return { type: 'replica set', replicaSet: hello['setName'], members };
}

async function collectionStatus(db: Db, name: string): Promise<CollectionStatus> {
  const options = await visible(collectionOptions(db, name));
  const isHidden = options === null;
  return {
    name,
    exists: isHidden ? null : options !== undefined,
    estimatedCount: await visible(db.collection(name).estimatedDocumentCount()),
    ...(IMAGE_COLLECTIONS.includes(name) && {
      preAndPostImages: isHidden ? null : hasImages(options),
    }),
  };
}

async function indexStatus(db: Db, connection: Connection): Promise<IndexStatus[]> {
  const present = new Map<string, Document[] | null>();
  for (const name of collectionNames(connection)) {
    present.set(name, await visible(indexesOf(db, name)));
  }
  return wantedIndexes(connection).map((wanted) => {
    const { collection, name } = wanted;
    const indexes = present.get(collection);
    const isPresent = indexes?.some((index) => servesAs(index, wanted)) ?? null;
    return { collection, name, present: isPresent };
  });
}

async function indexesOf(db: Db, collection: string): Promise<Document[]> {
  try {
    return await db.collection(collection).indexes();
  } catch (error) {
    if (error instanceof MongoServerError && error.code === NAMESPACE_NOT_FOUND) return [];
    throw error;
  }
}

/** Follows changes for a moment: only that tells the topology and the privileges alike. */
async function changeFeedStatus(
  db: Db,
): Promise<Pick<DatabaseStatus, 'changeFeed' | 'newestChange'>> {
  const [watched = ''] = IMAGE_COLLECTIONS;
  let newest: NewestChange | null = null;
  try {
    newest = await newestChange(db, watched);
    await demandProof(db);
    return { newestChange: newest, changeFeed: { on: true } };
  } catch (error) {
    return { newestChange: newest, changeFeed: { on: false, reason: messageOf(error) } };
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
