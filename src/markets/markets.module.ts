import { Module } from '@nestjs/common';
import { ApiKeysModule } from '../api-keys/api-keys.module.js';
import { Database } from '../database/database.js';
import { ChangeHistory } from './cache/change-history.js';
import { LiveScopes } from './cache/live-scopes.js';
import { MarketCache } from './cache/market-cache.js';
import { ScopeLoader } from './cache/scope-loader.js';
import { CollectionRepair } from './collection-repair.js';
import { Market, MarketSchema } from './market.schema.js';
import { MarketsController } from './markets.controller.js';
import { MarketsService } from './markets.service.js';
import { PageReader } from './page-reader.js';
import { FastPath } from './fast-path.js';
import { ChangesService } from './watch/changes.service.js';
import { HistoryBackfill } from './watch/history-backfill.js';
import { StreamHub } from './watch/stream-hub.js';
import { StreamTimes } from './watch/stream-times.js';
import { UnsentAnswers } from './unsent-answers.js';
import { WatchController } from './watch/watch.controller.js';
import { WatchGroups } from './watch/watch-groups.js';
import { WatchLoader } from './watch/watch-loader.js';
import { WatchPreparation } from './watch/watch-preparation.js';
import { WatchedScopes } from './watch/watched-scopes.js';

@Module({
  imports: [ApiKeysModule],
  controllers: [MarketsController, WatchController],
  providers: [
    MarketsService,
    PageReader,
    FastPath,
    LiveScopes,
    ScopeLoader,
    MarketCache,
    CollectionRepair,
    ChangeHistory,
    ChangesService,
    HistoryBackfill,
    StreamHub,
    StreamTimes,
    UnsentAnswers,
    WatchGroups,
    WatchLoader,
    WatchPreparation,
    WatchedScopes,
  ],
  exports: [MarketCache, StreamHub, WatchedScopes],
})
export class MarketsModule {
  constructor({ connection }: Database) {
    connection.model(Market.name, MarketSchema);
  }
}
