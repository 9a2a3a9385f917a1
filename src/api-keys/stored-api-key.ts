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
