import { Module } from '@nestjs/common';
import { Database } from '../database/database.js';
import { ApiKeysService } from './api-keys.service.js';
import { KeyReader } from './key-reader.js';
import { KeyRecords } from './key-records.js';
import { KeyVerifier } from './key-verifier.js';
import { requestCounter } from './request-counter.js';
import { RequestLimit } from './request-limit.js';

/** By a factory, since the service has no decorators: commands use it without Nest. */
const apiKeysService = {
  provide: ApiKeysService,
  inject: [Database],
  useFactory: ({ connection }: Database) => new ApiKeysService(connection),
};

/** Keys and their limits. The guard that asks for them is a provider of AppModule. */
@Module({
  providers: [apiKeysService, KeyReader, KeyRecords, KeyVerifier, requestCounter, RequestLimit],
  exports: [ApiKeysService, KeyVerifier, RequestLimit],
})
export class ApiKeysModule {}
