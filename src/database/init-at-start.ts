import { Logger, type INestApplicationContext } from '@nestjs/common';
import { Database } from './database.js';
import { initDatabase } from './init.js';

/** Makes collections and indexes; what can't be made is reported, and the service serves all the same. */
export async function initAtStart(app: INestApplicationContext): Promise<void> {
  const logger = new Logger('DatabaseInit');
  try {
    const report = await initDatabase(app.get(Database).connection);
    for (const { what, ok, reason } of report) {
      if (!ok) logger.warn(`Could not make ${what}: ${reason}`);
    }
  } catch (error) {
    logger.warn({ err: error }, 'Could not make collections and indexes');
  }
}
