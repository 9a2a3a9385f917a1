import { Injectable, Logger } from '@nestjs/common';
import { Database } from './database.js';
import { initDatabase, type InitReport } from './init.js';

/** Makes collections and indexes for the running server, which serves all the same where that fails. */
@Injectable()
export class DatabaseInit {
  private readonly logger = new Logger(DatabaseInit.name);
  private lastFailures = '';

  constructor(private readonly database: Database) {}

  async run(): Promise<void> {
    const report: InitReport = await initDatabase(this.database.connection).catch(
      (error: unknown) => [{ what: 'collections and indexes', ok: false, reason: String(error) }],
    );
    const failures = report
      .filter(({ ok }) => !ok)
      .map(({ what, reason }) => `Could not make ${what}: ${reason}`);
    if (failures.join() === this.lastFailures) return;
    this.lastFailures = failures.join();
    for (const failure of failures) this.logger.warn(failure);
  }
}
