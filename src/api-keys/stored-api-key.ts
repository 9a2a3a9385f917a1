import type { Caller } from '../http/api-request.js';

/** The record of a key, without the key itself. Where others wrote it, null may stand for what is missing. */
export interface StoredApiKey extends Omit<Caller, 'id'> {
  readonly _id: string;
  /** SHA-256 of the whole key, in hex. */
  readonly hash: string;
  readonly createdAt: Date;
  readonly expiresAt?: Date | null;
  readonly revokedAt?: Date | null;
  /** Id of the key that takes its place. */
  readonly rotatedTo?: string | null;
  /** Id of the key whose place it takes. */
  readonly rotatedFrom?: string;
}

/** A record without what comes from the key itself. */
export type KeyFields = Omit<StoredApiKey, '_id' | 'hash'>;

/** Why a key that somebody was given is good no more. */
export const ENDED_STATES = ['revoked', 'expired', 'unreadable'] as const;

type KeyState = 'active' | (typeof ENDED_STATES)[number];

/** The most that a `RateLimit` header can tell (RFC 9651). */
const NUMBER_MAX = 999_999_999_999_999;

/** The state of a key by its record. Others may have written that: a key whose end can't be understood is refused. */
export function stateOf({ revokedAt, expiresAt }: StoredApiKey, now = Date.now()): KeyState {
  if (isGiven(revokedAt)) return 'revoked';
  if (!isGiven(expiresAt)) return 'active';
  if (!isDate(expiresAt)) return 'unreadable';
  return expiresAt.getTime() <= now ? 'expired' : 'active';
}

/** What a request needs to know of its key; a limit that makes no sense gives way to the server's default. */
export function callerOf({ _id: id, name, rateLimit, streams }: StoredApiKey): Caller {
  return {
    id,
    name: typeof name === 'string' ? name : '',
    ...(isLimit(rateLimit) && { rateLimit }),
    ...(isLimit(streams) && { streams }),
  };
}

/** Fields of a stored record that can't be understood. */
export function faultsOf(record: StoredApiKey): string[] {
  const { expiresAt, rateLimit, streams } = record;
  return [
    ...(isGiven(expiresAt) && !isDate(expiresAt) ? ['expiresAt'] : []),
    ...(isGiven(rateLimit) && !isLimit(rateLimit) ? ['rateLimit'] : []),
    ...(isGiven(streams) && !isLimit(streams) ? ['streams'] : []),
  ];
}

export function isDate(value: unknown): value is Date {
  return value instanceof Date && !Number.isNaN(value.getTime());
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function isLimit(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= NUMBER_MAX;
}
