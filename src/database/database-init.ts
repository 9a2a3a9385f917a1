import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Database } from './database.js';
import { initDatabase } from './init.js';

/** What may pass by itself, as an election does, is tried again after this. Milliseconds. */
const AGAIN_AFTER_MS = 1_000;

/** Makes collections and indexes for the running server, which serves all the same where that fails. */
@Injectable()
export class DatabaseInit implements OnApplicationShutdown {
  private readonly logger = new Logger(DatabaseInit.name);
  private lastFailures = '';
  private again: NodeJS.Timeout | undefined;
  private ended = false;

  constructor(private readonly database: Database) {}

  async run(): Promise<void> {
    if (this.ended) return;
    const report = await initDatabase(this.database.connection);
    if (report.some(({ isPassing }) => isPassing)) {
      this.again = setTimeout(() => void this.run(), AGAIN_AFTER_MS).unref();
    }
    const failures = report
      .filter(({ ok }) => !ok)
      .map(({ what, reason }) => `Could not make ${what}: ${reason}`);
    if (failures.join() === this.lastFailures) return;
    this.lastFailures = failures.join();
    for (const failure of failures) this.logger.warn(failure);
  }

  onApplicationShutdown(): void {
    this.ended = true;
    clearTimeout(this.again);
  }
}
