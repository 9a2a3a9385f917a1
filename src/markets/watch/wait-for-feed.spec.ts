import { expect, it } from '@jest/globals';
import { Timestamp } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import { ChangeFeed } from '../../change-feed/change-feed.js';
import { waitForFeed } from './wait-for-feed.js';

const position = new Timestamp({ t: 1, i: 1 });
const blind = {
  isCurrent: false,
  status: { state: 'blind' },
  progress: { behindMs: () => 0 },
  position: undefined,
  isBehind(this: ChangeFeed, after: Timestamp) {
    return ChangeFeed.prototype.isBehind.call(this, after);
  },
};
const current = { isStarting: false, isCurrent: true, status: { state: 'current' } };
const begun = { ...blind, ...current, position };

it('waits for a feed that begins only now', async () => {
  const feed = { ...blind, isStarting: true };
  const reached = waitForFeed(feed as ChangeFeed, position, { waitMs: 1_000, needsFeed: false });
  await delay(20);
  Object.assign(feed, begun);
  expect(await reached).toBeUndefined();
});

it('leaves a question to MongoDB after a second, though it brings a position, where the feed begins late', async () => {
  const feed = { ...blind, isStarting: true };
  const since = performance.now();
  const question = { waitMs: 30_000, needsFeed: false };
  const unavailable = await waitForFeed(feed as ChangeFeed, position, question);
  expect(unavailable?.code).toBe('changes_unavailable');
  expect(performance.now() - since).toBeLessThan(10_000);
});

it('waits for none that has failed to', async () => {
  const feed = { ...blind, isStarting: true };
  const reached = waitForFeed(feed as ChangeFeed, position, { waitMs: 1_000, needsFeed: false });
  await delay(20);
  feed.isStarting = false;
  expect((await reached)?.code).toBe('changes_unavailable');
});

it.each([
  ['long', 1_800, 1_000],
  ['at all, if its time is up,', -1, 250],
])('does not wait %s for what is in the future', async (_how, waitMs, atMostMs) => {
  const after = new Timestamp({ t: 3_600, i: 1 });
  const since = performance.now();
  const question = { waitMs, needsFeed: false };
  await expect(waitForFeed(begun as ChangeFeed, after, question)).rejects.toThrow('behind');
  expect(performance.now() - since).toBeLessThan(atMostMs);
});

it.each([
  ['has much to tell, and alone can answer', 'backlog', true, undefined],
  ['has much to tell, and MongoDB can answer', 'backlog', false, 'changes_unavailable'],
  ['is kept from it by a majority', 'majority_lags', true, 'changes_unavailable'],
])(
  'waits half a second for a feed that %s, or not: %#',
  async (_why, lateBecause, needsFeed, code) => {
    const late = { ...begun, isCurrent: false, status: { state: 'late', lateBecause } };
    const question = { waitMs: 1_800, needsFeed };
    const reached = waitForFeed(late as ChangeFeed, position, question);
    await delay(500);
    Object.assign(late, begun);
    expect((await reached)?.code).toBe(code);
  },
);

it('waits for what a feed that was late has still to tell when it is current again', async () => {
  const after = new Timestamp({ t: 2, i: 1 });
  const late = { isCurrent: false, status: { state: 'late', lateBecause: 'backlog' } };
  const feed = { ...begun, ...late };
  const reached = waitForFeed(feed as ChangeFeed, after, { waitMs: 1_800, needsFeed: false });
  await delay(400);
  Object.assign(feed, begun);
  await delay(200);
  feed.position = after;
  expect(await reached).toBeUndefined();
});

it.each([{ isStarting: true }, { status: { state: 'late', lateBecause: 'backlog' } }])(
  'waits no longer than its request may: %j',
  async (status) => {
    const feed = { ...begun, isCurrent: false, position: undefined, ...status };
    const since = performance.now();
    const question = { waitMs: -1, needsFeed: true };
    const unavailable = await waitForFeed(feed as ChangeFeed, undefined, question);
    expect(unavailable?.code).toBe('changes_unavailable');
    expect(performance.now() - since).toBeLessThan(250);
  },
);

it.each(['backlog', 'majority_lags'])(
  'does not wait for a feed that has been late for long already (%s): the places in flight are for others',
  async (lateBecause) => {
    const late = {
      ...begun,
      isCurrent: false,
      status: { state: 'late', lateBecause },
      progress: { behindMs: () => 5_000 },
    };
    const since = performance.now();
    const question = { waitMs: 1_800, needsFeed: true };
    const unavailable = await waitForFeed(late as ChangeFeed, position, question);
    expect(unavailable?.code).toBe('changes_unavailable');
    expect(performance.now() - since).toBeLessThan(250);
  },
);
