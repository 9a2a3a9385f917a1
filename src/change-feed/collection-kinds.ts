import type { ClientSession, Db, Document } from 'mongodb';
import type { ChangeEvent } from './change.js';
import { NotFollowable } from './feed-errors.js';

/** What happens to documents leaves a collection what it is. */
const OF_DOCUMENTS = new Set(['insert', 'update', 'replace', 'delete']);

/**
 * Sees to it that what is followed are plain collections: change streams tell nothing of views and time series,
 * nor that one was made where no collection is.
 */
export class CollectionKinds {
  private readonly unsure: Set<string>;

  constructor(names: Iterable<string>) {
    this.unsure = new Set(names);
  }

  /** After a drop or a rename another kind may stand under the name. */
  note(events: readonly ChangeEvent[]): void {
    for (const { operationType, ns, to } of events) {
      if (OF_DOCUMENTS.has(operationType)) continue;
      for (const name of [ns?.coll, to?.coll]) if (name) this.unsure.add(name);
    }
  }

  /**
   * Looks at those that may have changed their kind; at one that is missing each time.
   * @throws NotFollowable when one is no plain collection
   */
  async check(db: Db, session: ClientSession): Promise<void> {
    if (this.unsure.size === 0) return;
    // By names alone, which needs no other privilege than to read them.
    const { cursor } = await db.command(
      {
        listCollections: 1,
        filter: { name: { $in: [...this.unsure] } },
        nameOnly: true,
        authorizedCollections: true,
      },
      { session },
    );
    for (const { name, type } of cursor.firstBatch as Document[]) {
      if (type !== 'collection') {
        throw new NotFollowable(`MongoDB tells no changes of ${name}, which is a ${type}`);
      }
      this.unsure.delete(name);
    }
  }
}
