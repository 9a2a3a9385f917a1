import { Logger } from '@nestjs/common';
import type { Connection } from 'mongoose';
import { ApiKeysService } from '../api-keys/api-keys.service.js';
import { MARKETS } from '../common/collections.js';
import { demoMarkets } from './demo-markets.js';

/**
 * Fills an empty database with demo markets, all or none, and stores the demo key.
 * @returns whether the demo markets are there
 */
export async function prepareDemo(connection: Connection): Promise<boolean> {
  const markets = connection.collection(MARKETS);
  const records = demoMarkets();
  await new ApiKeysService(connection).ensureDemoKey();
  await connection.transaction(
    async (session) => {
      if (await markets.findOne({}, { session, projection: { _id: 1 } })) return;
      await markets.insertMany(records, { session });
      new Logger('Demo').log(`The database was empty: ${records.length} demo markets are in`);
    },
    { readPreference: 'primary' },
  );
  return (await markets.findOne({ _id: records[0]?._id })) !== null;
}
