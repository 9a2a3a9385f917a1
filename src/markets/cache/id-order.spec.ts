import { describe, expect, it } from '@jest/globals';
import { Binary, Decimal128, Long, MaxKey, ObjectId, Timestamp, UUID } from 'mongodb';
import { idText } from '../id-text.js';
import { compareIds, idOfKey, orderedIdOf, textOfKey, type OrderedId } from './id-order.js';

const idOf = (value: unknown): OrderedId => {
  const id = orderedIdOf(value);
  if (!id) throw new Error(`${String(value)} is no id that memory can order`);
  return id;
};

describe('compareIds', () => {
  const inOrder = [
    -Infinity,
    -1.5,
    0,
    1,
    1.5,
    2,
    10,
    2 ** 53,
    Infinity,
    '',
    '\u0000',
    '10',
    '2',
    'A',
    'a',
    'a\u0000',
    'aa',
    'b',
    'é',
    '\uffee',
    '𝒳',
    '😀',
    new Binary(Buffer.from(''), 0x80),
    new Binary(Buffer.from('b')),
    new Binary(Buffer.from('c')),
    new Binary(Buffer.from('a'), 0x80),
    new Binary(Buffer.from('aa')),
    new Binary(Buffer.alloc(16)),
    new UUID('00000000-0000-4000-8000-000000000000'),
    new UUID('00000000-0000-4000-8000-000000000001'),
    new ObjectId('000000000000000000000000'),
    new ObjectId('00000000000000000000000a'),
    new ObjectId('0000000000000000000000b0'),
    new ObjectId('ffffffffffffffffffffffff'),
  ];

  it('puts numbers before strings before binary ids before ObjectIds, strings by their bytes', () => {
    const shuffled = inOrder.toSorted((one, other) => (String(one) > String(other) ? 1 : -1));
    expect(shuffled.toSorted((one, other) => compareIds(idOf(one), idOf(other)))).toEqual(inOrder);
  });

  it('takes an id as equal to itself alone', () => {
    for (const [row, one] of inOrder.entries()) {
      for (const [column, other] of inOrder.entries()) {
        const order = Math.sign(compareIds(idOf(one), idOf(other)));
        expect({ one, other, order }).toEqual({ one, other, order: Math.sign(row - column) });
        expect(idOf(one).key === idOf(other).key).toBe(row === column);
      }
    }
  });

  it('has all of an id in its key', () => {
    for (const id of inOrder) {
      const { key } = idOf(id);
      expect([idOfKey(key), textOfKey(key)]).toEqual([idOf(id), idText(id)]);
    }
  });

  it('takes both zeros as one, as MongoDB does', () => {
    expect(idOf(-0).key).toBe(idOf(0).key);
    expect(compareIds(idOf(-0), idOf(0))).toBe(0);
  });
});

describe('orderedIdOf', () => {
  it.each([
    [null],
    [undefined],
    [NaN],
    [true],
    [new Date()],
    [{ a: 1 }],
    [['a']],
    [Long.fromString('9223372036854775807')],
    [Decimal128.fromString('1')],
    [new Timestamp({ t: 1, i: 1 })],
    [new Binary(Buffer.from('a'), Binary.SUBTYPE_BYTE_ARRAY)],
    [new MaxKey()],
    // Broken UTF-8 reads as this character, and could be another id.
    ['a\ufffd'],
  ])('leaves %p to MongoDB', (value) => {
    expect(orderedIdOf(value)).toBeUndefined();
  });
});
