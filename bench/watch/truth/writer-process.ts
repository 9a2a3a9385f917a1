/** Changes markets in every way that there is, so many times; a market's first price only ever grows. */
import { MongoClient, ObjectId, type AnyBulkWriteOperation } from 'mongodb';
import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { marketIdOf, marketOf } from '../../bench-markets.js';
import type { StoredMarket } from '../../mongo.js';
import { isOfPair, MARKETS, pairOf, randomEventId, randomPair } from './data.js';

const [uri = '', wanted = '0'] = process.argv.slice(2);

const LANES = 4;
const BATCH = 100;
/** Changes a second: service and MongoDB can't do more beside the readers on two cores. */
const PER_SECOND_MAX = 1_500;
const TELL_EVERY = 5_000;

const OPTIONS = {
  heartbeatFrequencyMS: 500,
  serverSelectionTimeoutMS: 5_000,
  socketTimeoutMS: 5_000,
};
const client = new MongoClient(uri, OPTIONS);
const collection = client.db().collection<StoredMarket>('markets');
const ids = Array.from({ length: MARKETS }, (_, number) => number)
  .filter((number) => !isOfPair(number))
  .map((number) => marketIdOf(number));
let written = 0;
let inserted = 0;

function randomChange(): AnyBulkWriteOperation<StoredMarket> {
  const dice = randomInt(100);
  const place = randomInt(ids.length);
  const _id = ids[place] ?? new ObjectId();
  const newer = { $inc: { 'runners.0.price': 1 } };
  const update = (more: object) => ({
    updateOne: { filter: { _id }, update: { ...newer, $set: { updatedAt: new Date(), ...more } } },
  });
  if (dice < 5) {
    ids.splice(place, 1);
    return { deleteOne: { filter: { _id } } };
  }
  if (dice < 10) return { insertOne: { document: newMarket() } };
  if (dice < 15) return update({ eventId: randomEventId() });
  if (dice < 25) return update({ marketStatus: randomInt(2) ? 'OPEN' : 'SUSPENDED' });
  return update({});
}

function newMarket(): StoredMarket {
  const _id = new ObjectId();
  ids.push(_id);
  inserted += 1;
  const eventId = randomEventId();
  return { ...marketOf(1), _id, eventId, marketId: `new-${process.pid}-${inserted}` };
}

/** What fails while MongoDB has no primary does not count. */
async function writeBatch(): Promise<number> {
  const { insertedCount, modifiedCount, deletedCount } = await collection.bulkWrite(
    Array.from({ length: BATCH }, randomChange),
    { ordered: false },
  );
  return insertedCount + modifiedCount + deletedCount;
}

async function writePair(): Promise<number> {
  const pair = pairOf(randomPair());
  await client.withSession((session) =>
    session.withTransaction(async () => {
      for (const _id of pair) {
        await collection.updateOne({ _id }, { $inc: { 'runners.0.price': 1 } }, { session });
      }
    }),
  );
  return pair.length;
}

async function lane(startedAt: number): Promise<void> {
  while (written < Number(wanted)) {
    const due = ((performance.now() - startedAt) / 1_000) * PER_SECOND_MAX;
    if (written > due) await delay(5);
    const before = Math.floor(written / TELL_EVERY);
    const write = randomInt(4) === 0 ? writePair : writeBatch;
    written += await write().catch(() => 0);
    if (Math.floor(written / TELL_EVERY) > before) process.send?.({ written });
  }
}

process.on('disconnect', () => process.exit(0));
await client.connect();
await collection.updateMany(
  { _id: { $in: Array.from({ length: MARKETS }, (_, number) => marketIdOf(number)) } },
  { $set: { 'runners.0.price': 1 } },
  { writeConcern: { w: 'majority' } },
);
process.send?.('ready');
await new Promise((resolve) => process.once('message', resolve));
const startedAt = performance.now();
await Promise.all(Array.from({ length: LANES }, () => lane(startedAt)));
process.send?.({ written, isDone: true });
