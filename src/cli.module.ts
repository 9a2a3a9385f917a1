import { Module, type DynamicModule } from '@nestjs/common';
import { MongooseModule } from '@nestjs/mongoose';
import { ApiKeysModule } from './api-keys/api-keys.module.js';
import type { Config } from './config.js';
import { DatabaseModule } from './database/database.module.js';
import { MarketImporter } from './markets/import/market-importer.js';
import { Market, MarketSchema } from './markets/market.schema.js';

/** What the commands need: the service without its routes. */
@Module({})
export class CliModule {
  static with(config: Config): DynamicModule {
    return {
      module: CliModule,
      imports: [
        DatabaseModule.with(config),
        ApiKeysModule,
        MongooseModule.forFeature([{ name: Market.name, schema: MarketSchema }]),
      ],
      providers: [MarketImporter],
    };
  }
}
