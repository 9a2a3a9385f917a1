import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ChangeFeed } from '../../change-feed/change-feed.js';
import type { ChangeListener, Commit } from '../../change-feed/change.js';
import { Config } from '../../config.js';
import { Database } from '../../database/database.js';
import { MARKETS } from '../market.schema.js';

/** Whoever drops a collection needs some time to fill it again. Milliseconds. */
const LOOK_AFTER_MS = 1_000;

/**
 * Gives a collection that was dropped and filled again, or replaced by another, its indexes and post-images
 * back. It never makes the collection itself: a drop may be the first half of somebody's swap.
 */
@Injectable()
export class CollectionRepair implements ChangeListener, OnApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;
  private ended = false;

  constructor(
    private readonly database: Database,
    feed: ChangeFeed,
    config: Config,
  ) {
    if (config.dbInit) feed.listen(MARKETS, this);
  }

  committed({ changes }: Commit): void {
    // A change without its post-image shows that they are off.
    if (changes.some(({ kind }) => kind === 'replaced' || kind === 'altered')) this.lookSoon();
  }

  forgetAll(): void {}

  onApplicationShutdown(): void {
    this.ended = true;
    clearTimeout(this.timer);
  }

  private lookSoon(): void {
    if (this.ended) return;
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      void this.look();
    }, LOOK_AFTER_MS).unref();
  }

  private async look(): Promise<void> {
    try {
      const found = this.database.db.listCollections({ name: MARKETS }, { nameOnly: true });
      if (await found.hasNext()) await this.database.init();
      else this.lookSoon();
    } catch {
      this.lookSoon();
    }
  }
}
