import { Module } from '@nestjs/common';
import { MongooseModule } from '@nestjs/mongoose';
import { LiveScopes } from './cache/live-scopes.js';
import { MarketCache } from './cache/market-cache.js';
import { ScopeLoader } from './cache/scope-loader.js';
import { CollectionRepair } from './cache/collection-repair.js';
import { Market, MarketSchema } from './market.schema.js';
import { MarketsController } from './markets.controller.js';
import { MarketsService } from './markets.service.js';
import { PageReader } from './page-reader.js';

@Module({
  imports: [MongooseModule.forFeature([{ name: Market.name, schema: MarketSchema }])],
  controllers: [MarketsController],
  providers: [MarketsService, PageReader, LiveScopes, ScopeLoader, MarketCache, CollectionRepair],
  exports: [MongooseModule, MarketCache],
})
export class MarketsModule {}
