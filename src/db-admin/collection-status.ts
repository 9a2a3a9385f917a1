import { MongoServerError, type Db, type Document } from 'mongodb';
import type { Connection } from 'mongoose';
import { collectionOptions, hasImages } from '../database/init.js';
import { collectionNames, IMAGE_COLLECTIONS, servesAs, wantedIndexes } from '../database/wanted.js';
import { visible } from './visible.js';

export interface CollectionStatus {
  readonly name: string;
  readonly exists: boolean | null;
  readonly estimatedCount: number | null;
  /** Left out where they are not needed. */
  readonly preAndPostImages?: boolean | null;
}

export interface IndexStatus {
  readonly collection: string;
  readonly name: string;
  readonly present: boolean | null;
}

const NAMESPACE_NOT_FOUND = 26;

export async function collectionStatus(db: Db, name: string): Promise<CollectionStatus> {
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

export async function indexStatus(db: Db, connection: Connection): Promise<IndexStatus[]> {
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
