import { describe, expect, it } from '@jest/globals';
import { WaitingRoom } from './waiting-room.js';

describe('WaitingRoom', () => {
  it('lets go in the order of arrival', () => {
    const room = new WaitingRoom<string>();
    room.add('first');
    room.add('second');
    expect(room.length).toBe(2);
    expect([room.next(), room.next(), room.next()]).toEqual(['first', 'second', undefined]);
  });

  it('keeps some behind all others', () => {
    const room = new WaitingRoom<string>();
    room.addBehind('behind');
    room.add('first');
    expect(room.length).toBe(2);
    expect(room.next()).toBe('first');
    room.add('second');
    expect([room.next(), room.next(), room.next()]).toEqual(['second', 'behind', undefined]);
  });

  it('puts those ahead who have waited already', () => {
    const room = new WaitingRoom<string>();
    room.add('first');
    room.addAhead('ahead');
    expect(room.length).toBe(2);
    expect([room.next(), room.next()]).toEqual(['ahead', 'first']);
  });
});
