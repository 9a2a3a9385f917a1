import type { Db } from 'mongodb';
import type { Connection } from 'mongoose';
import { demandProof } from '../change-feed/followable.js';
import { messageOf } from '../common/command.js';
import { collectionNames, IMAGE_COLLECTIONS } from '../database/wanted.js';
import {
  collectionStatus,
  indexStatus,
  type CollectionStatus,
  type IndexStatus,
} from './collection-status.js';
import { newestChange, type NewestChange } from './newest-change.js';
import { visible } from './visible.js';

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
