import type { ClientSession, Db, Document } from 'mongodb';
import type { ChangeEvent } from './change.js';
import { NotFollowable } from './feed-errors.js';

/** Events of documents, which don't change the kind of their collection. */
const OF_DOCUMENTS = new Set(['insert', 'update', 'replace', 'delete']);

/**
 * Makes sure that only plain collections are followed: change streams tell nothing of views and time series, nor
 * that one was made under a name that was free.
 */
export class CollectionKinds {
  private readonly unsure: Set<string>;

  constructor(names: Iterable<string>) {
    this.unsure = new Set(names);
  }

  /** After a drop or a rename the name may belong to another kind. */
  note(events: readonly ChangeEvent[]): void {
    for (const { operationType, ns, to } of events) {
      if (OF_DOCUMENTS.has(operationType)) continue;
      for (const name of [ns?.coll, to?.coll]) if (name) this.unsure.add(name);
    }
  }

  /**
   * Checks the names whose kind is not known; one that is missing stays unknown.
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
