import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../common/text.js';
import { isAway } from '../../database/mongo-errors.js';
import type { ImportProgress } from './import-progress.js';

const TRY_AGAIN_AFTER_MS = 250;

/** Does some work, again and again while MongoDB is away, until the signal is aborted. */
export async function retryWhileAway<T>(
  work: () => Promise<T>,
  signal: AbortSignal,
  progress: ImportProgress,
): Promise<T> {
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await work();
    } catch (error) {
      if (!isAway(error) || signal.aborted) throw error;
      if (isFirst) await progress.say(`Waiting for MongoDB: ${messageOf(error)}`);
      await delay(TRY_AGAIN_AFTER_MS);
    }
  }
}
