import { MongoServerError, MongoServerSelectionError, type MongoClient } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../common/text.js';
import { isAway } from '../../database/mongo-errors.js';
import type { ImportProgress } from './import-progress.js';

/** The pause before what failed while MongoDB was away is tried again. Milliseconds. */
export const TRY_AGAIN_AFTER_MS = 250;

/** How long it is tried after the signal: the process ends 5 s after it, and a try takes some 1.3 s. Milliseconds. */
const AFTER_SIGNAL_MS = 2_000;

/**
 * Does some work, again and again while MongoDB is away, until some time after the signal is aborted. A client that found
 * no server is connected anew, since it never asks some hosts again, such as one that was a standalone server meanwhile.
 */
export async function retryWhileAway<T>(
  work: () => Promise<T>,
  client: MongoClient,
  signal: AbortSignal,
  progress: ImportProgress,
): Promise<T> {
  let until = Infinity;
  for (let isFirst = true; ; isFirst = false) {
    try {
      await connectIfPossible(client);
      return await work();
    } catch (error) {
      const now = performance.now();
      if (signal.aborted) until = Math.min(until, now + AFTER_SIGNAL_MS);
      if (!isAway(error) || now >= until) throw error;
      if (isFirst) await progress.say(`Waiting for MongoDB: ${messageOf(error)}`);
      if (error instanceof MongoServerSelectionError) await client.close(true);
      await delay(TRY_AGAIN_AFTER_MS);
    }
  }
}

/** Connects a closed client. Where that fails, as where a name server is silent, the work fails for want of it. */
async function connectIfPossible(client: MongoClient): Promise<void> {
  await client.connect().catch((error: unknown) => {
    if (error instanceof MongoServerError) throw error;
  });
}
