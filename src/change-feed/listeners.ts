import type { Timestamp } from 'mongodb';
import { changeOf, type ChangeListener } from './change.js';
import type { CommitEvents } from './commit-assembly.js';

/** Tells listeners what changes in their collections, and keeps what was told last. */
export class Listeners {
  private readonly byCollection = new Map<string, ChangeListener[]>();
  private readonly newest = new Map<string, Date>();

  /** Time between the newest change and its telling, by the two machines' clocks. Milliseconds. */
  lagMs = 0;

  get collections(): string[] {
    return [...this.byCollection.keys()];
  }

  /** Fields of which some listener wants the values before a change. */
  get fieldsBefore(): string[] {
    return [...this.byCollection.values()].flat().flatMap(({ fieldsBefore = [] }) => fieldsBefore);
  }

  add(collection: string, listener: ChangeListener): void {
    this.byCollection.set(collection, [...(this.byCollection.get(collection) ?? []), listener]);
  }

  /** When, by MongoDB's clock, the newest change was made that was told of a collection. */
  newestChangeOf(collection: string): Date | undefined {
    return this.newest.get(collection);
  }

  tell({ events, last: { clusterTime, wallTime } }: CommitEvents): void {
    this.lagMs = Math.max(0, Date.now() - wallTime.getTime());
    if (!events) {
      this.forgetAll(clusterTime);
      // The commit may be of any collection.
      for (const collection of this.collections) this.newest.set(collection, wallTime);
      return;
    }
    for (const [collection, listeners] of this.byCollection) {
      const changes = events.flatMap((event) => changeOf(event, collection) ?? []);
      if (changes.length === 0) continue;
      this.newest.set(collection, wallTime);
      for (const listener of listeners) listener.committed?.({ clusterTime, changes });
    }
  }

  forgetAll(position: Timestamp | undefined): void {
    for (const listener of [...this.byCollection.values()].flat()) listener.forgetAll?.(position);
  }
}
