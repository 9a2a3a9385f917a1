import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ChangeFeed } from '../change-feed/change-feed.js';
import type { ChangeListener, Commit } from '../change-feed/change.js';
import { MARKETS } from '../common/collections.js';
import { Config } from '../config.js';
import { Database } from '../database/database.js';

/** How often the service checks whether a dropped collection is there again. Milliseconds. */
const CHECK_EVERY_MS = 1_000;

/**
 * Gives a collection that was dropped and filled again, or replaced by another, its indexes and post-images
 * back. It never makes the collection itself: a drop may be the first half of somebody's swap.
 */
@Injectable()
export class CollectionRepair implements ChangeListener, OnApplicationShutdown {
  private readonly timer = setInterval(() => void this.check(), CHECK_EVERY_MS).unref();
  private mayLack = false;
  private isChecking = false;
  /** Something is missing that could not be made. */
  private hasFailed = false;

  constructor(
    private readonly database: Database,
    feed: ChangeFeed,
    config: Config,
  ) {
    if (config.dbInit) feed.listen(MARKETS, this);
  }

  committed({ changes }: Commit): void {
    // A change without its post-image shows that post-images are off. Where `init` has failed, that starts no new try.
    this.mayLack ||= changes.some(
      ({ kind }) => kind === 'collectionReplaced' || (kind === 'altered' && !this.hasFailed),
    );
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  private async check(): Promise<void> {
    // Building indexes takes long where there is much.
    if (!this.mayLack || this.isChecking) return;
    this.mayLack = false;
    this.isChecking = true;
    try {
      const found = this.database.db.listCollections({ name: MARKETS }, { nameOnly: true });
      if (await found.hasNext()) this.hasFailed = !(await this.database.init());
      else this.mayLack = true;
    } catch {
      this.mayLack = true;
    } finally {
      this.isChecking = false;
    }
  }
}
