import { Logger, type INestApplicationContext } from '@nestjs/common';
import { getModelToken } from '@nestjs/mongoose';
import type { Model } from 'mongoose';
import { ApiKeysService } from '../api-keys/api-keys.service.js';
import { Market } from '../markets/market.schema.js';
import { demoMarkets } from './demo-markets.js';

/** Fills an empty database with demo markets, all or none, and sees to the demo key. */
export async function prepareDemo(app: INestApplicationContext): Promise<void> {
  const markets = app.get<Model<Market>>(getModelToken(Market.name));
  await app.get(ApiKeysService).ensureDemoKey();
  await markets.db.transaction(
    async (session) => {
      if (await markets.exists({}).session(session)) return;
      const records = demoMarkets();
      await markets.collection.insertMany([...records], { session });
      new Logger('Demo').log(`The database was empty: ${records.length} demo markets are in`);
    },
    { readPreference: 'primary' },
  );
}
