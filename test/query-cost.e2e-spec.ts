import { expect, it } from '@jest/globals';
import { MarketsQuery } from '../src/markets/markets-query.dto.js';
import { WatchQuery } from '../src/markets/watch/watch-query.dto.js';
import { Random, SEED } from './random.js';
import { readAs } from './read-as.js';

const TARGET_MAX = 16 * 1024;
const SMALL = 8 * 1024;
const TIMES = 8;
/** A cost of the square would be 64. */
const RATIO_MAX = 24;
/** Below, in ms, a figure says nothing. */
const NOISE_MS = 3;

const KEY = 'mos_demo00000000_ThisIsThePublicDemoKeyOfMarkets01JrrOk';

/** Parts that a query can be made of without end; `n` differs from part to part. */
const PARTS: readonly ((n: number) => string)[] = [
  (n) => `n${n}=1`,
  (n) => `n${n}`,
  () => 'nope=1',
  () => 'page=1',
  () => 'marketType=BTTS',
  (n) => `provider=p${n}`,
  (n) => `eventId=${n}`,
  (n) => `fixtureId=f${n}`,
  () => 'marketStatus=',
  () => `api_key=${KEY}`,
  (n) => `PublicDemo${n}=1`,
  (n) => `%zz${n}=1`,
  (n) => `a${n}=%FF`,
  () => `${'A'.repeat(200)}=1`,
  (n) => `provider=${'%F0%9F%98%80'.repeat(20)}${n}`,
  () => '=',
  () => '&',
  () => 'A',
  (n) => `a%5B${n}%5D=,,,`,
];

/** One to three kinds of parts in turn, joined as names or run together in one. */
function aShape(random: Random): (size: number) => string {
  const kinds = [random.pick(PARTS), random.pick(PARTS), random.pick(PARTS)].slice(random.below(3));
  const joint = random.pick(['&', '&', '&', '']);
  const start = random.pick(['', 'eventId=']);
  return (size) => repeated(size, (n) => `${kinds[n % kinds.length]?.(n)}${joint}`, start);
}

function repeated(size: number, part: (n: number) => string, start = ''): string {
  let query = start;
  for (let n = 0; query.length < size; n += 1) query += part(n);
  return query.slice(0, size);
}

function costMs(query: string): number {
  const headers = { 'x-api-key': KEY };
  const before = process.cpuUsage();
  readAs(MarketsQuery, query, headers);
  readAs(WatchQuery, query, headers);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** How much more a query costs that is so many times as large; the best of some tries, since pauses only add. */
function growth(shape: (size: number) => string): number {
  const [small, large] = [shape(SMALL), shape(SMALL * TIMES)];
  let least = Infinity;
  for (let tries = 0; tries < 4 && least >= RATIO_MAX; tries += 1) {
    least = Math.min(least, costMs(large) / Math.max(costMs(small), NOISE_MS));
  }
  return least;
}

it(`reads a query in time that grows as its size does, whatever it is (seed ${SEED})`, () => {
  const random = new Random(SEED);
  const shapes = [
    ...PARTS.map((part) => (size: number) => repeated(size, (n) => `${part(n)}&`)),
    ...Array.from({ length: 12 }, () => aShape(random)),
  ];
  for (const shape of shapes) {
    const ratio = growth(shape);
    const query = shape(80);
    expect({ query, ratio, isLinear: ratio < RATIO_MAX }).toEqual({ query, ratio, isLinear: true });
  }
});

it(`tells what is wrong in 16 KB at most, whatever the query is (seed ${SEED})`, () => {
  const random = new Random(SEED);
  const shapes = [...Array.from({ length: 30 }, () => aShape(random)), nastyNames];
  for (const shape of shapes) {
    const { faults = [] } = readAs(WatchQuery, shape(TARGET_MAX));
    expect(Buffer.byteLength(JSON.stringify(faults))).toBeLessThan(TARGET_MAX - 1_024);
  }
});

/** Names as long as an error shows them, in characters of four bytes or that JSON escapes. */
function nastyNames(): string {
  return Array.from({ length: 25 }, (_, n) => `${n}${'😀'.repeat(31)}${'"'.repeat(31)}=1`)
    .map(encodeURI)
    .join('&');
}
