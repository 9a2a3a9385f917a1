import type { Db, Document } from 'mongodb';
import type { Connection } from 'mongoose';
import { dbOf } from './connection.js';
import { EXACT_COLLATION } from './driver-options.js';
import { hasCode } from './mongo-errors.js';

const NAMESPACE_NOT_FOUND = 26;

/** An index that a schema declares. */
export type WantedIndex = ReturnType<typeof wantedIndexes>[number];

/** The indexes that the schemas of the connection's models declare. */
export function wantedIndexes(connection: Connection) {
  return Object.values(connection.models).flatMap(({ collection, schema }) =>
    schema.indexes().map(([keys, { name = '', unique = false }]) => ({
      collection: collection.collectionName,
      name,
      keys: keys as Readonly<Record<string, 1>>,
      unique,
    })),
  );
}

/** Whether an index that is there does what is wanted, whatever it is called. */
export function satisfies(present: Document, { keys, unique }: WantedIndex): boolean {
  const isWhole = !['partialFilterExpression', 'sparse', 'collation', 'hidden'].some(
    (restriction) => present[restriction],
  );
  // Uniqueness does not depend on the order of fields, and in a sharded collection the shard key comes first.
  const fieldsOf = (index: Document) => {
    const fields = Object.entries(index).map(([field, way]) => `${field} ${way}`);
    return (unique ? fields.toSorted() : fields).join();
  };
  const hasKeys = fieldsOf(present['key']) === fieldsOf(keys);
  return isWhole && hasKeys && (!unique || present['unique'] === true);
}

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
  const { setName } = await db.command({ hello: 1 });
  await collection.createIndex(wanted.keys, {
    name: isTaken ? `${wanted.name}_exact` : wanted.name,
    collation: EXACT_COLLATION,
    ...(wanted.unique && { unique: true }),
    // By default MongoDB waits for every member, one that is away among them.
    ...(setName && { commitQuorum: 'majority' }),
  });
}

/** Indexes that are still being built are left out, since that may fail. */
async function builtIndexes(db: Db, { collection }: WantedIndex): Promise<Document[]> {
  const command = { listIndexes: collection, cursor: {}, includeBuildUUIDs: true };
  const { readPreference } = db;
  const indexes = await db.runCursorCommand(command, { readPreference }).toArray();
  return indexes.filter(({ buildUUID }) => buildUUID === undefined);
}
