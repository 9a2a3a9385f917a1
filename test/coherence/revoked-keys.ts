import type { Db } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import { generateKey } from '../../src/api-keys/key-form.js';
import { keyRecord } from '../factories.js';
import type { Service } from '../services.js';
import { BOUND_MS, type Tally } from './tally.js';

/** So long after the bound a revoked key is tried again and again, in ms. */
const TRIED_FOR_MS = 1_500;
const BETWEEN_TRIES_MS = 50;

/** Makes, uses and revokes keys one after the other until it is done, and counts those that are let in too late. */
export async function revokeKeys(
  service: Service,
  db: Db,
  tally: Tally,
  isDone: () => boolean,
): Promise<void> {
  const records = db.collection<{ _id: string }>('api_keys');
  while (!isDone()) {
    const key = generateKey();
    const record = keyRecord(key);
    const { _id } = record;
    const isStored = await records.insertOne(record).then(isSo, isNot);
    if (!isStored) continue;
    while (!isDone() && !(await isLetIn(service, key))) await delay(BETWEEN_TRIES_MS);
    const revoke = { $set: { revokedAt: new Date() } };
    while (!(await records.updateOne({ _id }, revoke).then(isSo, isNot)))
      await delay(BETWEEN_TRIES_MS);
    const revokedAt = performance.now();
    await delay(BOUND_MS.faulty);
    let letInAfterMs: number | undefined;
    while (performance.now() - revokedAt < BOUND_MS.faulty + TRIED_FOR_MS) {
      const askedAt = performance.now();
      if (await isLetIn(service, key)) letInAfterMs = askedAt - revokedAt;
      await delay(BETWEEN_TRIES_MS);
    }
    tally.keyRevoked(letInAfterMs);
  }
}

async function isLetIn({ url }: Service, key: string): Promise<boolean> {
  const path = '/v1/markets/market/fixture/none';
  const answer = await fetch(url + path, { headers: { 'X-API-Key': key } }).catch(() => undefined);
  await answer?.arrayBuffer().catch(() => undefined);
  return answer?.status === 200;
}

const isSo = () => true;
const isNot = () => false;
