/** The writer, a process of its own: changes prices of popular events at a steady rate until it is ended. */
import { MongoClient } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import { marketIdOf, MARKETS_PER_EVENT } from './bench-markets.js';
import { popularEvents, randomNumbers } from './workloads.js';

const [uri = '', markets = '0', perSecond = '500'] = process.argv.slice(2);
const client = new MongoClient(uri, { maxPoolSize: 4 });
const collection = client.db().collection('markets');
const events = popularEvents(Number(markets));
const random = randomNumbers(1);

function priceChange() {
  const event = events[Math.floor(random() * events.length)] ?? 0;
  const number = event * MARKETS_PER_EVENT + Math.floor(random() * MARKETS_PER_EVENT);
  const price = Math.round((1.01 + random() * 9) * 100) / 100;
  return {
    updateOne: {
      filter: { _id: marketIdOf(number) },
      update: { $set: { 'runners.0.price': price, updatedAt: new Date() } },
    },
  };
}

process.on('disconnect', () => process.exit(0));
await client.connect();
process.send?.('ready');
const startedAt = performance.now();
for (let written = 0; ;) {
  const due = Math.floor(((performance.now() - startedAt) / 1000) * Number(perSecond));
  const changes = Array.from({ length: due - written }, priceChange);
  if (changes.length > 0) await collection.bulkWrite(changes, { ordered: false });
  written = due;
  await delay(5);
}
