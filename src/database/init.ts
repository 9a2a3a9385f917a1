import { MongoServerError, type Document } from 'mongodb';
import type { Connection } from 'mongoose';

/** One thing that the service wants in the database. */
export interface InitItem {
  readonly what: string;
  /** Whether it is there now, or not needed. */
  readonly ok: boolean;
  /** Why it could not be made, or is not needed. */
  readonly reason?: string;
}

export type InitReport = readonly InitItem[];

export interface WantedIndex {
  readonly collection: string;
  readonly name: string;
  readonly keys: Readonly<Record<string, 1 | -1>>;
  readonly unique: boolean;
}

/** The change feed needs to know where a market was before it changed. */
export const PRE_IMAGE_COLLECTIONS: readonly string[] = ['markets'];

const NAMESPACE_EXISTS = 48;
const PRE_IMAGES_SINCE = 6;

/** The indexes that the schemas of the connection's models declare. */
export function wantedIndexes(connection: Connection): WantedIndex[] {
  return Object.values(connection.models).flatMap(({ collection, schema }) =>
    schema.indexes().map(([keys, options]) => ({
      collection: collection.collectionName,
      name: options.name ?? Object.entries(keys).flat().join('_'),
      keys: keys as WantedIndex['keys'],
      unique: options.unique === true,
    })),
  );
}

/** Whether an index that is there does what is wanted, whatever it is called. */
export function servesAs(present: Document, { keys, unique }: WantedIndex): boolean {
  const isWhole = !['partialFilterExpression', 'sparse', 'collation', 'hidden'].some(
    (restriction) => present[restriction],
  );
  return (
    isWhole &&
    JSON.stringify(present['key']) === JSON.stringify(keys) &&
    (!unique || present['unique'] === true)
  );
}

/**
 * Makes the collections and indexes of the connection's models where they lack, and turns on what the
 * change feed needs. Drops nothing, and goes on where something can't be made.
 */
export async function initDatabase(connection: Connection): Promise<InitReport> {
  const collections = Object.values(connection.models).map((model) => model.collection.name);
  const items: InitItem[] = [];
  for (const name of collections) {
    items.push(await attempt(`collection ${name}`, () => makeCollection(connection, name)));
  }
  for (const name of collections.filter((each) => PRE_IMAGE_COLLECTIONS.includes(each))) {
    items.push(await attempt(`pre-images of ${name}`, () => turnOnPreImages(connection, name)));
  }
  for (const index of wantedIndexes(connection)) {
    const what = `index ${index.collection}.${index.name}`;
    items.push(await attempt(what, () => makeIndex(connection, index)));
  }
  return items;
}

async function attempt(what: string, make: () => Promise<string | void>): Promise<InitItem> {
  try {
    const reason = await make();
    return { what, ok: true, ...(reason && { reason }) };
  } catch (error) {
    return { what, ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
}

async function makeCollection({ db }: Connection, name: string): Promise<void> {
  try {
    await db?.createCollection(name);
  } catch (error) {
    if (!(error instanceof MongoServerError) || error.code !== NAMESPACE_EXISTS) throw error;
  }
}

/** @returns why it is not needed, if so */
async function turnOnPreImages({ db }: Connection, name: string): Promise<string | void> {
  const hello = await db?.command({ hello: 1 });
  if (!hello?.['setName'] && hello?.['msg'] !== 'isdbgrid')
    return 'a standalone server has no changes to tell';
  const build = await db?.command({ buildInfo: 1 });
  if (build?.['versionArray'][0] < PRE_IMAGES_SINCE)
    return `MongoDB has them since version ${PRE_IMAGES_SINCE}`;
  await db?.command({ collMod: name, changeStreamPreAndPostImages: { enabled: true } });
}

async function makeIndex({ db }: Connection, wanted: WantedIndex): Promise<void> {
  const collection = db?.collection(wanted.collection);
  const present = (await collection?.indexes().catch(() => [])) ?? [];
  if (present.some((index) => servesAs(index, wanted))) return;
  await collection?.createIndex(wanted.keys, {
    name: wanted.name,
    ...(wanted.unique && { unique: true }),
  });
}
