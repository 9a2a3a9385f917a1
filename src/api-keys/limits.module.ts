import { Module } from '@nestjs/common';
import { FailedKeys } from './failed-keys.js';
import { RequestCounter } from './request-counter.js';
import { RequestLimit } from './request-limit.js';

/** What requests are limited by. Commands don't need it. */
@Module({
  providers: [FailedKeys, RequestCounter, RequestLimit],
  exports: [FailedKeys, RequestLimit],
})
export class LimitsModule {}
