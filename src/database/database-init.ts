import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Database } from './database.js';
import { initDatabase, type InitReport } from './init.js';
import { isWorthRetry } from './worth-retry.js';

/** What failed in an election is tried again so much later. Milliseconds. */
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
    const report: InitReport = await initDatabase(this.database.connection).catch(
      (error: unknown) => [
        {
          what: 'collections and indexes',
          ok: false,
          reason: String(error),
          ...(isWorthRetry(error) && { isPassing: true }),
        },
      ],
    );
    if (report.some(({ isPassing }) => isPassing)) this.runAgain();
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

  private runAgain(): void {
    if (this.ended) return;
    clearTimeout(this.again);
    this.again = setTimeout(() => void this.run(), AGAIN_AFTER_MS).unref();
  }
}
