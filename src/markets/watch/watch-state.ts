import type { Timestamp } from 'mongodb';

/** What a caller is told: groups as JSON text, all of one cluster time. */
export interface WatchState {
  readonly groups: readonly string[];
  readonly position: Timestamp;
  /** Everything written earlier than so long ago is in it. Milliseconds. */
  readonly ageMs: number;
}
