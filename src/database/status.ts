import type { Document } from 'mongodb';
import type { Connection } from 'mongoose';
import { PRE_IMAGE_COLLECTIONS, servesAs, wantedIndexes } from './init.js';

export interface DatabaseStatus {
  readonly database: string;
  readonly serverVersion: string | null;
  readonly topology: Topology;
  readonly collections: readonly CollectionStatus[];
  readonly indexes: readonly { collection: string; name: string; present: boolean | null }[];
  /** Whether changes are told as they happen, and why not. */
  readonly changeFeed: { readonly on: boolean; readonly reason?: string };
}

interface Topology {
  readonly type: 'standalone' | 'replica set' | 'sharded';
  readonly replicaSet?: string;
  /** Left out when the user may not see them. */
  readonly members?: readonly { name: string; state: string }[];
}

interface CollectionStatus {
  readonly name: string;
  readonly exists: boolean | null;
  readonly estimatedCount: number | null;
  /** Null where they are not needed, or can't be seen. */
  readonly preAndPostImages: boolean | null;
}

/** What can be seen of the database; what the user may not see is null. */
export async function databaseStatus(connection: Connection): Promise<DatabaseStatus> {
  const { db } = connection;
  if (!db) throw new Error('Not connected');
  const build = await db.command({ buildInfo: 1 }).catch(() => undefined);
  const names = Object.values(connection.models).map((model) => model.collection.name);
  return {
    database: db.databaseName,
    serverVersion: (build?.['version'] as string | undefined) ?? null,
    topology: await topologyOf(connection),
    collections: await Promise.all(names.map((name) => collectionStatus(connection, name))),
    indexes: await indexStatus(connection, names),
    changeFeed: await changeFeedStatus(connection),
  };
}

async function topologyOf({ db }: Connection): Promise<Topology> {
  const hello = await db?.command({ hello: 1 });
  if (hello?.['msg'] === 'isdbgrid') return { type: 'sharded' };
  if (!hello?.['setName']) return { type: 'standalone' };
  const set = await db
    ?.admin()
    .command({ replSetGetStatus: 1 })
    .catch(() => undefined);
  const members = (set?.['members'] as { name: string; stateStr: string }[] | undefined)?.map(
    ({ name, stateStr }) => ({ name, state: stateStr }),
  );
  return { type: 'replica set', replicaSet: hello['setName'] as string, members };
}

async function collectionStatus({ db }: Connection, name: string): Promise<CollectionStatus> {
  const found = await db
    ?.listCollections({ name })
    .toArray()
    .catch(() => undefined);
  const options = found?.[0] && 'options' in found[0] ? found[0].options : undefined;
  const preImages = (options as Document | undefined)?.['changeStreamPreAndPostImages'] as
    { enabled: boolean } | undefined;
  const count = await db
    ?.collection(name)
    .estimatedDocumentCount()
    .catch(() => undefined);
  return {
    name,
    exists: found ? found.length > 0 : null,
    estimatedCount: count ?? null,
    preAndPostImages:
      found && PRE_IMAGE_COLLECTIONS.includes(name) ? preImages?.enabled === true : null,
  };
}

async function indexStatus(connection: Connection, collections: readonly string[]) {
  const present = new Map<string, Document[] | null>();
  for (const name of collections) present.set(name, await indexesOf(connection, name));
  return wantedIndexes(connection).map((wanted) => {
    const { collection, name } = wanted;
    const indexes = present.get(collection);
    return {
      collection,
      name,
      present: indexes ? indexes.some((index) => servesAs(index, wanted)) : null,
    };
  });
}

async function indexesOf({ db }: Connection, collection: string): Promise<Document[] | null> {
  try {
    return (await db?.collection(collection).indexes()) ?? null;
  } catch (error) {
    return (error as Document)['codeName'] === 'NamespaceNotFound' ? [] : null;
  }
}

/** Opens the feed for a moment: only that tells the topology and the privileges alike. */
async function changeFeedStatus({ db }: Connection): Promise<DatabaseStatus['changeFeed']> {
  const [watched] = PRE_IMAGE_COLLECTIONS;
  const stream = db?.collection(watched ?? '').watch([], { maxAwaitTimeMS: 1 });
  try {
    await stream?.tryNext();
    return { on: true };
  } catch (error) {
    return { on: false, reason: error instanceof Error ? error.message : String(error) };
  } finally {
    await stream?.close();
  }
}
