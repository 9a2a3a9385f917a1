import type { Response } from 'express';
import type { ChangeFeed } from '../../change-feed/change-feed.js';
import type { StreamEnd } from './stream-events.js';
import type { StreamTimes } from './stream-times.js';
import type { UnsentEvents } from './unsent-events.js';
import type { WatchGroups } from './watch-groups.js';
import type { WatchQuestion } from './watch-question.js';

/** What one client has asked for, and where it is answered. */
export interface StreamOptions extends Pick<WatchQuestion, 'watch' | 'since'> {
  readonly response: Response;
  readonly keyId: string;
  readonly conflateMs: number;
}

/** What all streams share. */
export interface StreamContext {
  readonly times: StreamTimes;
  readonly groups: WatchGroups;
  readonly unsentEvents: UnsentEvents;
  readonly feed: Pick<ChangeFeed, 'position' | 'provenAt'>;
  readonly observer: StreamObserver | undefined;
}

/** Told for the metrics. */
export interface StreamObserver {
  opened(): void;
  ended(reason: StreamEnd): void;
  /** @param waitedMs how long the first of the changes waited in this process, longer than `conflateMs` asks for */
  written(changes: number, waitedMs: number): void;
}
