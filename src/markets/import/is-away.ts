import { MongoBulkWriteError, MongoError, MongoServerError } from 'mongodb';

/** InterruptedAtShutdown, NotWritablePrimary and their like. */
const AWAY_CODES = [6, 7, 89, 91, 134, 189, 262, 9001, 10107, 11600, 11602, 13388, 13435, 13436];

/** Whether a failure passes when MongoDB is back: not when it has understood and refuses. */
export function isAway(error: unknown): boolean {
  if (!(error instanceof MongoError)) return false;
  if (error.hasErrorLabel('RetryableWriteError')) return true;
  if (AWAY_CODES.includes(Number(error.code))) return true;
  // What the network does to a bulk write comes without a code.
  if (error instanceof MongoBulkWriteError) return error.code === undefined;
  return !(error instanceof MongoServerError);
}
