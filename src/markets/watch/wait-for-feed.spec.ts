import { expect, it } from '@jest/globals';
import { Timestamp } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import type { ChangeFeed } from '../../change-feed/change-feed.js';
import { waitForFeed } from './wait-for-feed.js';

const position = new Timestamp({ t: 1, i: 1 });
const begun = { isStarting: false, isCurrent: true, standing: { state: 'current' }, position };
const blind = { isCurrent: false, standing: { state: 'blind' }, position: undefined };

it('waits for a feed that begins only now', async () => {
  const feed = { ...blind, isStarting: true };
  const reached = waitForFeed(feed as ChangeFeed, position, { waitMs: 1_000, since: undefined });
  await delay(20);
  Object.assign(feed, begun);
  expect(await reached).toBe(true);
});

it('waits for none that has failed to', async () => {
  const feed = { ...blind, isStarting: true };
  const reached = waitForFeed(feed as ChangeFeed, position, { waitMs: 1_000, since: undefined });
  await delay(20);
  feed.isStarting = false;
  expect(await reached).toBe(false);
});

it('does not wait long for what is in the future', async () => {
  const after = new Timestamp({ t: 3_600, i: 1 });
  const since = performance.now();
  const question = { waitMs: 1_800, since: undefined };
  await expect(waitForFeed(begun as ChangeFeed, after, question)).rejects.toThrow('behind');
  expect(performance.now() - since).toBeLessThan(1_000);
});

it.each([
  ['has much to tell', 'backlog', true],
  ['is kept from it by a majority', 'majority_lags', false],
])(
  'waits longer for a client that resumes, where the feed %s: %#',
  async (_why, lateBecause, waits) => {
    const late = { ...begun, isCurrent: false, standing: { state: 'late', lateBecause } };
    const question = { waitMs: 1_800, since: position };
    const reached = waitForFeed(late as ChangeFeed, position, question);
    await delay(500);
    Object.assign(late, begun);
    expect(await reached).toBe(waits);
  },
);

it.each([{ isStarting: true }, { standing: { state: 'late', lateBecause: 'backlog' } }])(
  'waits no longer than its request may: %j',
  async (standing) => {
    const feed = { ...begun, isCurrent: false, position: undefined, ...standing };
    const since = performance.now();
    const question = { waitMs: -1, since: position };
    expect(await waitForFeed(feed as ChangeFeed, undefined, question)).toBe(false);
    expect(performance.now() - since).toBeLessThan(250);
  },
);
