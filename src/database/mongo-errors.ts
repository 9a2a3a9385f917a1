import {
  MongoBulkWriteError,
  MongoError,
  MongoNetworkError,
  MongoNetworkTimeoutError,
  MongoServerError,
} from 'mongodb';
import { messageOf } from '../common/text.js';

const UNAUTHORIZED = 13;
const AUTHENTICATION_FAILED = 18;
const MAX_TIME_MS_EXPIRED = 50;
/** An operator has forbidden all writes for a while (`setUserWriteBlockMode`), to migrate a cluster for one. */
export const USER_WRITES_BLOCKED = 371;

/** QueryPlanKilled, SnapshotTooOld, SnapshotUnavailable; in a transaction LockTimeout and WriteConflict, too. */
const TRANSIENT_CODES = [175, 239, 246, 24, 112];

/** Interrupted, CursorKilled: an operator has ended the operation by `killOp`, `killAllSessions` or `killCursors`. */
const KILLED_CODES = [11601, 237];

/**
 * Errors of the network and of elections, from HostUnreachable (6) to NotPrimaryOrSecondary (13436). CursorNotFound (43)
 * is one: another server has become the primary, and does not have the cursor.
 */
const SERVER_GONE_CODES = [
  6, 7, 43, 89, 91, 134, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436,
];

const RETRYABLE_CODES = new Set([...TRANSIENT_CODES, ...SERVER_GONE_CODES]);

/** Whether it is one of these errors of the server. */
export function hasCode(error: unknown, ...codes: number[]): boolean {
  return error instanceof MongoServerError && codes.includes(Number(error.code));
}

/** Errors of the retryable reads specification: the server went away, or is none that may be read now. */
export function isRetryable(error: unknown): boolean {
  if (isBrokenSocket(error)) return true;
  if (error instanceof MongoNetworkError) return !(error instanceof MongoNetworkTimeoutError);
  if (!(error instanceof MongoError)) return false;
  return error.hasErrorLabel('RetryableReadError') || RETRYABLE_CODES.has(Number(error.code));
}

/** Whether the read can succeed some milliseconds later: what was just made, such as an index, has no snapshot yet. */
export function isTransient(error: unknown): boolean {
  return hasCode(error, ...TRANSIENT_CODES);
}

/** Whether an operator has ended the operation: it may be done all the same. */
export function isKilled(error: unknown): boolean {
  return hasCode(error, ...KILLED_CODES);
}

/** Whether the same work can succeed once MongoDB is back: not if MongoDB has understood and refuses it. */
export function isAway(error: unknown): boolean {
  if (isRetryable(error) || isKilled(error)) return true;
  if (!(error instanceof MongoError)) return false;
  if (error.hasErrorLabel('RetryableWriteError')) return true;
  if (error.code === USER_WRITES_BLOCKED) return true;
  // A failure of the network in a bulk write has no code.
  if (error instanceof MongoBulkWriteError) return error.code === undefined;
  return !(error instanceof MongoServerError);
}

/** Whether the server gave up because of `maxTimeMS`. */
export function isTimeExpired(error: unknown): boolean {
  return hasCode(error, MAX_TIME_MS_EXPIRED);
}

/** Whether the server did not let us in. */
export function isAuthenticationFailure(error: unknown): boolean {
  return hasCode(error, AUTHENTICATION_FAILED);
}

/** Whether we may not do what was asked: without the role for it, or without a login. */
export function isUnauthorized(error: unknown): boolean {
  return hasCode(error, UNAUTHORIZED);
}

/** Whether our login has ended, since our user was dropped: when the user is back, only new connections log in. */
export function isLoggedOut(error: unknown): boolean {
  return error instanceof MongoServerError && /requires authentication/i.test(error.message);
}

/** Whether a socket broke just as a command was written: the driver throws the socket's own error then. */
export function isBrokenSocket(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === 'EPIPE' || code === 'ECONNRESET';
}

/** Why there is no connection. The driver's messages hold hosts, but never credentials. */
export function whyNotConnected(error: unknown): string {
  // A server that is away may come back; one that refuses us, a wrong password for one, needs somebody.
  if (error instanceof MongoServerError) return `MongoDB refuses us: ${messageOf(error)}`;
  const why = messageOf(error)
    .replace(
      /^Server selection timed out.*/,
      '$& (no host of MONGODB_URI answers, or none is of its replicaSet)',
    )
    .replace(/^connection <monitor> .* closed$/, '$& (it may want TLS, or a client certificate)');
  return `MongoDB can't be reached: ${why}`;
}
