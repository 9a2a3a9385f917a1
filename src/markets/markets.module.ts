import { Module } from '@nestjs/common';
import { MongooseModule } from '@nestjs/mongoose';
import { Books } from './books.js';
import { CollectionKeeper } from './collection-keeper.js';
import { Market, MarketSchema } from './market.schema.js';
import { MarketsController } from './markets.controller.js';
import { MarketsService } from './markets.service.js';
import { PageReader } from './page-reader.js';

@Module({
  imports: [MongooseModule.forFeature([{ name: Market.name, schema: MarketSchema }])],
  controllers: [MarketsController],
  providers: [MarketsService, PageReader, Books, CollectionKeeper],
  exports: [MongooseModule, Books],
})
export class MarketsModule {}
