import type { Db, Document } from 'mongodb';
import type { Connection } from 'mongoose';
import { dbOf } from './connection.js';
import { EXACT_COLLATION } from './driver-options.js';
import { hasCode } from './mongo-errors.js';
import { satisfies, wantedIndexes, type WantedIndex } from './wanted-indexes.js';

const NAMESPACE_NOT_FOUND = 26;

/** Whether there is an index that does what is wanted. */
export async function hasIndex(db: Db, wanted: WantedIndex): Promise<boolean> {
  try {
    return (await builtIndexes(db, wanted)).some((index) => satisfies(index, wanted));
  } catch (error) {
    if (hasCode(error, NAMESPACE_NOT_FOUND)) return false;
    throw error;
  }
}

/** A warning for each index that is known to be missing. */
export async function missingIndexes(connection: Connection): Promise<string[]> {
  const db = dbOf(connection);
  const missing: string[] = [];
  for (const wanted of wantedIndexes(connection)) {
    if (await hasIndex(db, wanted).catch(() => true)) continue;
    const name = `${wanted.collection}.${wanted.name}`;
    missing.push(`The index ${name} is missing: "db init" makes it`);
  }
  return missing;
}

/** Makes an index, unless it is there: then no privilege to make it is needed. */
export async function makeIndex(db: Db, wanted: WantedIndex): Promise<void> {
  const collection = db.collection(wanted.collection);
  const present = await builtIndexes(db, wanted).catch((error: unknown): Document[] => {
    // The collection was dropped meanwhile, and making an index would make it anew.
    if (hasCode(error, NAMESPACE_NOT_FOUND)) throw error;
    return [];
  });
  if (present.some((index) => satisfies(index, wanted))) return;
  // An index made with the collection's own collation serves no exact comparison, but holds the name.
  const isTaken = present.some(({ name }) => name === wanted.name);
  await collection.createIndex(wanted.keys, {
    name: isTaken ? `${wanted.name}_exact` : wanted.name,
    collation: EXACT_COLLATION,
    ...(wanted.unique && { unique: true }),
  });
}

/** Indexes that are still being built are left out, since that may fail. */
async function builtIndexes(db: Db, { collection }: WantedIndex): Promise<Document[]> {
  const command = { listIndexes: collection, cursor: {}, includeBuildUUIDs: true };
  const { readPreference } = db;
  const indexes = await db.runCursorCommand(command, { readPreference }).toArray();
  return indexes.filter(({ buildUUID }) => buildUUID === undefined);
}
