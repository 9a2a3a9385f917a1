import { Module } from '@nestjs/common';
import { FailedKeys } from './failed-keys.js';
import { RequestCounter } from './request-counter.js';

/** What the guards count with. Commands don't need it. */
@Module({ providers: [FailedKeys, RequestCounter], exports: [FailedKeys, RequestCounter] })
export class LimitsModule {}
