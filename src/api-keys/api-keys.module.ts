import { Module } from '@nestjs/common';
import { KeyReader } from './key-reader.js';
import { KeyRecords } from './key-records.js';
import { KeyVerifier } from './key-verifier.js';
import { RequestCounter } from './request-counter.js';
import { RequestLimit } from './request-limit.js';

/** Keys of requests, and their limits. The guard that asks for them is a provider of AppModule. */
@Module({
  providers: [KeyReader, KeyRecords, KeyVerifier, RequestCounter, RequestLimit],
  exports: [KeyVerifier, RequestCounter, RequestLimit],
})
export class ApiKeysModule {}
