/** A key at rest: everything but the key itself. Where others wrote it, null may stand for what is missing. */
export interface StoredApiKey {
  readonly _id: string;
  readonly name: string;
  /** SHA-256 of the whole key, in hex. */
  readonly hash: string;
  readonly createdAt: Date;
  readonly expiresAt?: Date | null;
  readonly revokedAt?: Date | null;
  readonly rateLimit?: number;
  readonly streams?: number;
  /** Id of the key that takes its place. */
  readonly rotatedTo?: string | null;
  /** Id of the key whose place it takes. */
  readonly rotatedFrom?: string;
}

/** All of a record but what comes from the key itself. */
export type KeyFields = Omit<StoredApiKey, '_id' | 'hash'>;
