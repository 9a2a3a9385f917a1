import { Logger, type INestApplicationContext } from '@nestjs/common';
import { ApiKeysService } from '../api-keys/api-keys.service.js';
import { MARKETS } from '../common/collections.js';
import { Database } from '../database/database.js';
import { demoMarkets } from './demo-markets.js';

/** Fills an empty database with demo markets, all or none, and stores the demo key. */
export async function prepareDemo(app: INestApplicationContext): Promise<void> {
  const { connection } = app.get(Database);
  const markets = connection.collection(MARKETS);
  await app.get(ApiKeysService).ensureDemoKey();
  await connection.transaction(
    async (session) => {
      if (await markets.findOne({}, { session, projection: { _id: 1 } })) return;
      const records = demoMarkets();
      await markets.insertMany(records, { session });
      new Logger('Demo').log(`The database was empty: ${records.length} demo markets are in`);
    },
    { readPreference: 'primary' },
  );
}
