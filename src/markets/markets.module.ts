import { Module } from '@nestjs/common';
import { MongooseModule } from '@nestjs/mongoose';
import { Market, MarketSchema } from './market.schema.js';
import { MarketsController } from './markets.controller.js';
import { MarketsService } from './markets.service.js';

@Module({
  imports: [MongooseModule.forFeature([{ name: Market.name, schema: MarketSchema }])],
  controllers: [MarketsController],
  providers: [MarketsService],
  exports: [MongooseModule],
})
export class MarketsModule {}
