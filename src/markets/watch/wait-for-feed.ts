import type { Timestamp } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import type { ChangeFeed } from '../../change-feed/change-feed.js';
import { FRESH_FOR_MS } from '../../change-feed/feed-progress.js';
import type { Problem } from '../../http/problem.js';
import { changesUnavailable, replicaBehind } from './watch-problems.js';
import type { WatchQuestion } from './watch-question.js';

const CHECK_EVERY_MS = 10;

/** How long a feed that has fallen behind is waited for, where MongoDB can answer in its place. Milliseconds. */
const LATE_MAX_MS = 300;

/** How long a position that a current feed has not reached is waited for. Milliseconds. */
const AHEAD_MAX_MS = 500;

/** How long a feed that is starting is waited for, and a late one that alone can answer. Milliseconds. */
const NEEDED_MAX_MS = 1_000;

/**
 * Waits a little for the feed to be current, and to have reached a position.
 * @returns why memory can't answer, if the feed does not become current
 * @throws Problem when it has not reached the position in time
 */
export async function waitForFeed(
  feed: Pick<ChangeFeed, 'isBehind' | 'isCurrent' | 'isStarting' | 'progress' | 'status'>,
  position: Timestamp | undefined,
  question: Pick<WatchQuestion, 'waitMs' | 'needsFeed'>,
): Promise<Problem | undefined> {
  const startedAt = performance.now();
  /** Since when the feed has been current without a break; now, while it is not. */
  let currentSince = startedAt;
  for (;;) {
    const now = performance.now();
    if (!feed.isCurrent) currentSince = now;
    const isBehind = position !== undefined && feed.isBehind(position);
    if (feed.isCurrent && !isBehind) return undefined;
    const { isStarting, status } = feed;
    if (!isStarting && status.state === 'blind') return changesUnavailable('notCurrent');
    // A position that a current feed does not reach soon is in the future: waiting for it would hold up others.
    const isTimeUp = question.waitMs < 0;
    if (isBehind && (isTimeUp || now - currentSince > AHEAD_MAX_MS)) throw replicaBehind();
    const isNeeded = isStarting || (question.needsFeed && status.lateBecause !== 'majority_lags');
    const longestMs = isNeeded ? NEEDED_MAX_MS : LATE_MAX_MS;
    // With a position to reach, a late feed is waited for as long as the request has time; a starting one is not.
    // Nobody waits for a feed that has been late for so long already: each request that waits takes a place in flight.
    const isLongLate = feed.progress.behindMs() > FRESH_FOR_MS + longestMs;
    const isTooLong = (isLongLate || now - startedAt > longestMs) && (isStarting || !isBehind);
    if (isTimeUp || isTooLong) return changesUnavailable('notCurrent');
    await delay(CHECK_EVERY_MS);
  }
}
