import { Module } from '@nestjs/common';
import { getModelToken, MongooseModule } from '@nestjs/mongoose';
import type { Model } from 'mongoose';
import { ApiKeySchema, StoredApiKey } from './api-key.schema.js';
import { ApiKeysService } from './api-keys.service.js';
import { KeyReader } from './key-reader.js';
import { KeyRecords } from './key-records.js';
import { KeyVerifier } from './key-verifier.js';
import { RequestCounter } from './request-counter.js';
import { RequestLimit } from './request-limit.js';

/** Commands use it without Nest. */
const apiKeysService = {
  provide: ApiKeysService,
  inject: [getModelToken(StoredApiKey.name)],
  useFactory: (model: Model<StoredApiKey>) => new ApiKeysService(model),
};

/** Keys and their limits. The guard that asks for them is a provider of AppModule. */
@Module({
  imports: [MongooseModule.forFeature([{ name: StoredApiKey.name, schema: ApiKeySchema }])],
  providers: [apiKeysService, KeyReader, KeyRecords, KeyVerifier, RequestCounter, RequestLimit],
  exports: [ApiKeysService, KeyVerifier, RequestLimit],
})
export class ApiKeysModule {}
