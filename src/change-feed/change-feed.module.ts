import { Global, Module } from '@nestjs/common';
import { ChangeFeed } from './change-feed.js';

/** What changed in the database, for whoever remembers it. */
@Global()
@Module({ providers: [ChangeFeed], exports: [ChangeFeed] })
export class ChangeFeedModule {}
