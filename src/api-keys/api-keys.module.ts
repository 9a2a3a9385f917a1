import { Module } from '@nestjs/common';
import { MongooseModule } from '@nestjs/mongoose';
import { ApiKeySchema, StoredApiKey } from './api-key.schema.js';
import { ApiKeysService } from './api-keys.service.js';
import { KeyReader } from './key-reader.js';
import { KeyRecords } from './key-records.js';
import { KeyVerifier } from './key-verifier.js';

/** The keys themselves. The guards that ask for them are providers of AppModule. */
@Module({
  imports: [MongooseModule.forFeature([{ name: StoredApiKey.name, schema: ApiKeySchema }])],
  providers: [ApiKeysService, KeyReader, KeyRecords, KeyVerifier],
  exports: [MongooseModule, ApiKeysService, KeyRecords, KeyVerifier],
})
export class ApiKeysModule {}
