import { Injectable } from '@nestjs/common';
import { InjectModel } from '@nestjs/mongoose';
import type { Model } from 'mongoose';
import { ChangeFeed } from '../change-feed/change-feed.js';
import type { ChangeListener, Commit } from '../change-feed/change.js';
import { StoredApiKey } from './api-key.schema.js';
import { KeyRecords } from './key-records.js';

/** Updates what is remembered of keys as soon as their records change. */
@Injectable()
export class KeyChanges implements ChangeListener {
  constructor(
    @InjectModel(StoredApiKey.name) keys: Model<StoredApiKey>,
    private readonly records: KeyRecords,
    feed: ChangeFeed,
  ) {
    feed.listen(keys.collection.name, this);
  }

  committed({ changes }: Commit): void {
    for (const change of changes) {
      if (change.kind === 'replaced') this.records.forgetAll();
      else if (change.kind === 'stored') this.records.update(String(change.id), change.document);
      else this.records.forget(String(change.id));
    }
  }

  forgetAll(): void {
    // Records are trusted for two seconds at most, with or without a feed.
  }
}
