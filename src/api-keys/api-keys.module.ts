import { Module } from '@nestjs/common';
import { getModelToken, MongooseModule } from '@nestjs/mongoose';
import type { Model } from 'mongoose';
import { ApiKeySchema, StoredApiKey } from './api-key.schema.js';
import { ApiKeysService } from './api-keys.service.js';
import { KeyReader } from './key-reader.js';
import { KeyRecords } from './key-records.js';
import { KeyVerifier } from './key-verifier.js';

/** Commands use it without Nest. */
const apiKeysService = {
  provide: ApiKeysService,
  inject: [getModelToken(StoredApiKey.name)],
  useFactory: (model: Model<StoredApiKey>) => new ApiKeysService(model),
};

/** The keys themselves. The guards that ask for them are providers of AppModule. */
@Module({
  imports: [MongooseModule.forFeature([{ name: StoredApiKey.name, schema: ApiKeySchema }])],
  providers: [apiKeysService, KeyReader, KeyRecords, KeyVerifier],
  exports: [MongooseModule, ApiKeysService, KeyRecords, KeyVerifier],
})
export class ApiKeysModule {}
