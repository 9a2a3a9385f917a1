import type { Response } from 'express';
import type { Timestamp } from 'mongodb';
import type { StreamEnd } from './stream-events.js';
import type { StreamTimes } from './stream-times.js';
import type { WatchGroups } from './watch-groups.js';
import type { Watch } from './watch.js';

/** What one client has asked for. */
export interface StreamOptions {
  readonly response: Response;
  readonly keyId: string;
  readonly watch: Watch;
  /** The position that the client has reached already, if any. */
  readonly since: Timestamp | undefined;
  readonly conflateMs: number;
}

/** What all streams share. */
export interface StreamContext {
  readonly times: StreamTimes;
  readonly groups: WatchGroups;
  /** Monotonic time at which the feed was last known to be complete. */
  readonly provenAt: number;
  readonly observer: StreamObserver | undefined;
}

/** Told for the metrics. */
export interface StreamObserver {
  opened(): void;
  ended(reason: StreamEnd): void;
  /** @param waitedMs how long the first of the commits waited in this process */
  written(commits: number, waitedMs: number): void;
}
