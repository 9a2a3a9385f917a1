import { describe, expect, it } from '@jest/globals';
import { Binary, Decimal128, Long, MaxKey, ObjectId, Timestamp, UUID } from 'mongodb';
import { idText } from '../id-text.js';
import { compareKeys, keyOfId, orderedKey, textOfKey } from './id-order.js';

const keyOf = (id: unknown): string => {
  const key = orderedKey(id);
  if (key === undefined) throw new Error(`${String(id)} is no id that memory can order`);
  return key;
};

describe('compareKeys', () => {
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
    expect(shuffled.toSorted((one, other) => compareKeys(keyOf(one), keyOf(other)))).toEqual(
      inOrder,
    );
  });

  it('takes an id as equal to itself alone', () => {
    for (const [row, one] of inOrder.entries()) {
      for (const [column, other] of inOrder.entries()) {
        const order = Math.sign(compareKeys(keyOf(one), keyOf(other)));
        expect({ one, other, order }).toEqual({ one, other, order: Math.sign(row - column) });
        expect(keyOf(one) === keyOf(other)).toBe(row === column);
      }
    }
  });

  it('has all of an id in its key', () => {
    for (const id of inOrder) {
      expect(textOfKey(keyOf(id))).toBe(idText(id));
    }
  });

  it('takes both zeros as one, as MongoDB does', () => {
    expect(keyOf(-0)).toBe(keyOf(0));
    expect(compareKeys(keyOf(-0), keyOf(0))).toBe(0);
  });
});

describe('orderedKey', () => {
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
    expect(orderedKey(value)).toBeUndefined();
    expect(textOfKey(keyOfId(value))).toBe(idText(value));
  });
});
