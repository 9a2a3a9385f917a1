import { describe, expect, it } from '@jest/globals';
import { WaitingRoom } from './waiting-room.js';

const RULES = { always: 2, burst: 10, most: 20, standingMs: 100 };

/** Lets in as many as there is room for. */
function fill(room: WaitingRoom<number>, now: number): void {
  while (!room.isFull(now)) room.add(room.length);
}

function serve(room: WaitingRoom<number>, count: number): void {
  for (let served = 0; served < count; served++) {
    room.next();
    room.countServed();
  }
}

describe('WaitingRoom', () => {
  it('lets a burst wait, in the order of arrival', () => {
    const room = new WaitingRoom<number>(RULES);
    fill(room, 0);
    expect(room.length).toBe(10);
    expect([room.next(), room.next()]).toEqual([0, 1]);
  });

  it('keeps some behind all others', () => {
    const room = new WaitingRoom<string>(RULES);
    room.addBehind('behind');
    room.add('first');
    expect(room.length).toBe(2);
    expect(room.next()).toBe('first');
    room.add('second');
    expect([room.next(), room.next(), room.next()]).toEqual(['second', 'behind', undefined]);
  });

  it('lets as many wait as were served lately when the queue does not pass', () => {
    const room = new WaitingRoom<number>(RULES);
    fill(room, 0);
    serve(room, 2);
    fill(room, 49);
    expect(room.length).toBe(10);
    serve(room, 2);
    // Four in 80 ms are five in 100 ms.
    expect(room.isFull(80)).toBe(true);
    serve(room, 3);
    expect(room.isFull(80)).toBe(true);
    serve(room, 1);
    expect(room.isFull(80)).toBe(false);
  });

  it('does not count who was sent away', () => {
    const room = new WaitingRoom<number>(RULES);
    fill(room, 0);
    for (let sent = 0; sent < 6; sent++) room.next();
    expect(room.isFull(50)).toBe(true);
  });

  it('puts those ahead who have waited already', () => {
    const room = new WaitingRoom<string>(RULES);
    room.add('first');
    room.addAhead('ahead');
    expect(room.length).toBe(2);
    expect([room.next(), room.next()]).toEqual(['ahead', 'first']);
  });

  it('lets a few wait however slow it goes, and so many however fast', () => {
    const slow = new WaitingRoom<number>(RULES);
    fill(slow, 0);
    expect(slow.isFull(150)).toBe(true);
    while (slow.length > 2) slow.next();
    expect(slow.isFull(150)).toBe(true);
    slow.next();
    expect(slow.isFull(150)).toBe(false);

    const quick = new WaitingRoom<number>(RULES);
    fill(quick, 0);
    for (let served = 0; served < 1_000; served++) {
      serve(quick, 1);
      quick.add(served);
    }
    quick.isFull(100);
    fill(quick, 100);
    expect(quick.length).toBe(20);
  });

  it('remembers how many it could serve', () => {
    const room = new WaitingRoom<number>(RULES);
    fill(room, 0);
    while (room.length > 1) serve(room, 1);
    room.isFull(60);
    serve(room, 1);
    fill(room, 61);
    expect(room.length).toBe(15);
  });

  it('lets a burst wait again once it was empty', () => {
    const room = new WaitingRoom<number>(RULES);
    fill(room, 0);
    expect(room.isFull(150)).toBe(true);
    while (room.length > 0) room.next();
    fill(room, 151);
    expect(room.length).toBe(10);
  });
});
