import { Schema } from 'mongoose';
import { EXACT_COLLATION } from '../database/driver-options.js';

/** A key at rest: everything but the key itself. */
export class StoredApiKey {
  readonly _id!: string;
  readonly name!: string;
  /** SHA-256 of the whole key, in hex. */
  readonly hash!: string;
  readonly createdAt!: Date;
  readonly expiresAt?: Date;
  readonly revokedAt?: Date;
  readonly rateLimit?: number;
  readonly streams?: number;
  /** Id of the key that takes its place. */
  readonly rotatedTo?: string;
  /** Id of the key whose place it takes. */
  readonly rotatedFrom?: string;
}

/** All of a record but what comes from the key itself. */
export type KeyFields = Omit<StoredApiKey, '_id' | 'hash'>;

const fields: Record<keyof StoredApiKey, object> = {
  _id: { type: String, required: true },
  name: { type: String, required: true },
  hash: { type: String, required: true },
  createdAt: { type: Date, required: true },
  expiresAt: { type: Date },
  revokedAt: { type: Date },
  rateLimit: { type: Number },
  streams: { type: Number },
  rotatedTo: { type: String },
  rotatedFrom: { type: String },
};

export const API_KEYS = 'api_keys';

export const ApiKeySchema = new Schema<StoredApiKey>(fields, {
  collection: API_KEYS,
  versionKey: false,
  collation: EXACT_COLLATION,
});
