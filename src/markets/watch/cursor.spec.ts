import { describe, expect, it } from '@jest/globals';
import { Timestamp } from 'mongodb';
import { readCursor, writeCursor } from './cursor.js';

const cursor = { position: new Timestamp({ t: 0xfedcba98, i: 7 }), watchHash: '0123456789abcdef' };

describe('a cursor', () => {
  it('is read as it was written, and fits a URL', () => {
    const text = writeCursor(cursor);
    expect(text).toMatch(/^[\w-]{1,256}$/);
    expect(readCursor(text)).toEqual(cursor);
  });

  it('is none with any character changed, cut off or added', () => {
    const text = writeCursor(cursor);
    for (let place = 0; place < text.length; place += 1) {
      const other = text[place] === 'A' ? 'B' : 'A';
      expect(readCursor(text.slice(0, place) + other + text.slice(place + 1))).toBeUndefined();
      expect(readCursor(text.slice(0, place))).toBeUndefined();
    }
    for (const added of [`${text}A`, `${text}=`, ` ${text}`, `${text}\n`]) {
      expect(readCursor(added)).toBeUndefined();
    }
  });
});
