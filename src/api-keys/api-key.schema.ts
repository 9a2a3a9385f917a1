import { Prop, Schema, SchemaFactory } from '@nestjs/mongoose';
import { EXACT_COLLATION } from '../database/exact-comparison.js';

/** A key at rest: everything but the key itself. */
@Schema({ collection: 'api_keys', versionKey: false, collation: EXACT_COLLATION })
export class StoredApiKey {
  @Prop({ type: String, required: true })
  readonly _id!: string;

  @Prop({ type: String, required: true })
  readonly name!: string;

  /** SHA-256 of the whole key, in hex. */
  @Prop({ type: String, required: true })
  readonly hash!: string;

  @Prop({ type: Date, required: true })
  readonly createdAt!: Date;

  @Prop({ type: Date })
  readonly expiresAt?: Date;

  @Prop({ type: Date })
  readonly revokedAt?: Date;

  @Prop({ type: Number })
  readonly rateLimit?: number;

  @Prop({ type: Number })
  readonly streams?: number;

  /** Id of the key that takes its place. */
  @Prop({ type: String })
  readonly rotatedTo?: string;

  /** Id of the key whose place it takes. */
  @Prop({ type: String })
  readonly rotatedFrom?: string;
}

export const ApiKeySchema = SchemaFactory.createForClass(StoredApiKey);
