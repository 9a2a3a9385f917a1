import type { Db, Document } from 'mongodb';
import type { Connection } from 'mongoose';
import { COLLECTIONS, MARKETS } from '../common/collections.js';
import { SLOW_INIT, tellIfSlow } from '../common/tell-if-slow.js';
import { messageOf } from '../common/text.js';
import { dbOf } from './connection.js';
import { makeIndex, wantedIndexes } from './indexes.js';
import { hasCode, isAway, isKilled } from './mongo-errors.js';

/** One thing that the service wants in the database. */
export interface InitItem {
  readonly what: string;
  /** Whether it is there now, or not needed. */
  readonly ok: boolean;
  /** Why it could not be made, or is not needed. */
  readonly reason?: string;
  /** The cause of the failure may pass by itself, as an election, the lack of a primary, or an index build does. */
  readonly isPassing?: true;
}

/** What an `InitItem` calls the images that the change feed needs. */
export const IMAGES = `pre- and post-images of ${MARKETS}`;

const NAMESPACE_EXISTS = 48;

/** Somebody is building an index on the collection: until that ends, MongoDB changes none of its options. */
const INDEX_BUILD_RUNS = 12_587;

/** OutOfDiskSpace, by which a full disk is told where MongoDB looks before it writes. */
const OUT_OF_DISK_SPACE = 14_031;

const WITH_IMAGES = { changeStreamPreAndPostImages: { enabled: true } };

/**
 * Makes the service's collections and the indexes of the connection's models, where they are missing, and turns on what
 * the change feed needs. Drops nothing, and goes on where something can't be made.
 * @param say is told where it takes long
 */
export function initDatabase(
  connection: Connection,
  say: (message: string) => unknown = () => undefined,
): Promise<InitItem[]> {
  return tellIfSlow(() => makeAll(connection), say, SLOW_INIT);
}

async function makeAll(connection: Connection): Promise<InitItem[]> {
  const db = dbOf(connection);
  const items: InitItem[] = [];
  for (const name of COLLECTIONS) {
    items.push(await attempt(`collection ${name}`, () => makeCollection(db, name)));
  }
  items.push(await attempt(IMAGES, () => turnOnImages(db)));
  for (const index of wantedIndexes(connection)) {
    const what = `index ${index.collection}.${index.name}`;
    items.push(await attempt(what, () => makeIndex(db, index)));
  }
  return items;
}

/** How a collection was made; undefined when there is none. */
export async function collectionOptions(db: Db, name: string): Promise<Document | undefined> {
  const [found]: Document[] = await db.listCollections({ name }).toArray();
  return found?.['options'];
}

/** Whether pre- and post-images are on, by a collection's options. */
export function hasImages(options: Document | undefined): boolean {
  return options?.['changeStreamPreAndPostImages']?.enabled === true;
}

async function attempt(what: string, make: () => Promise<string | void>): Promise<InitItem> {
  try {
    const reason = await make();
    return { what, ok: true, ...(reason && { reason }) };
  } catch (error) {
    // Who kills an index build does not want it again a second later.
    const isPassing =
      (isAway(error) && !isKilled(error)) || hasCode(error, INDEX_BUILD_RUNS) || isDiskFull(error);
    return { what, ok: false, reason: messageOf(error), ...(isPassing && { isPassing }) };
  }
}

/** Whether MongoDB's disk is full, until somebody makes space: mongod may live that long. */
function isDiskFull(error: unknown): boolean {
  return hasCode(error, OUT_OF_DISK_SPACE) || /No space left on device/.test(messageOf(error));
}

// Each step looks first: what is there already needs no privilege to make it.

async function makeCollection(db: Db, name: string): Promise<void> {
  if (await collectionOptions(db, name).catch(() => undefined)) return;
  if (name === MARKETS && !(await isStandalone(db)) && (await makeWithImages(db))) return;
  try {
    await db.createCollection(name);
  } catch (error) {
    if (!hasCode(error, NAMESPACE_EXISTS)) throw error;
  }
}

/** MongoDB's own role readWrite may make a collection with images, but not turn them on later. */
async function makeWithImages(db: Db): Promise<boolean> {
  try {
    await db.createCollection(MARKETS, WITH_IMAGES);
    return true;
  } catch (error) {
    if (isAway(error)) throw error;
    return false;
  }
}

/**
 * The change feed tells a market as the change left it, which is its post-image; MongoDB keeps both images or none.
 * @returns why they are not needed, if so
 */
async function turnOnImages(db: Db): Promise<string | void> {
  if (hasImages(await collectionOptions(db, MARKETS).catch(() => undefined))) return undefined;
  if (await isStandalone(db)) return 'a standalone server has no change feed';
  await db.command({ collMod: MARKETS, ...WITH_IMAGES });
  return undefined;
}

async function isStandalone(db: Db): Promise<boolean> {
  const { setName, msg } = await db.command({ hello: 1 });
  return !setName && msg !== 'isdbgrid';
}
