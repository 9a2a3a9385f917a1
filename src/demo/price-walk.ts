import type { Market, Runner } from '../markets/market.schema.js';

/** The largest step of a chance, and how far it may get from where it began, of its own size. */
const STEP = 0.012;
const FURTHEST = 0.12;
const LOWEST_PRICE = 1.01;

interface Chance {
  readonly runnerId: string;
  readonly start: number;
  now: number;
}

/**
 * Prices of a market on a random walk. What one runner's chance gains, another one's of the same line loses, so that
 * the chances add up to what they did; and none gets far from where it began.
 */
export class PriceWalk {
  private readonly lines: readonly (readonly Chance[])[];

  constructor({ runners }: Pick<Market, 'runners'>) {
    const lines = [...new Set(runners.map(({ line }) => line))];
    this.lines = lines.map((each) => runners.filter(({ line }) => line === each).map(chanceOf));
  }

  /** The runners whose prices move now; none if the step would lead too far. */
  step(): Pick<Runner, 'runnerId' | 'price'>[] {
    const line = pick(this.lines);
    const gaining = pick(line);
    const losing = pick(line.filter((chance) => chance !== gaining));
    const step = Math.random() * STEP;
    if (!mayBe(gaining, gaining.now + step) || !mayBe(losing, losing.now - step)) return [];
    gaining.now += step;
    losing.now -= step;
    return [gaining, losing].map(({ runnerId, now }) => ({ runnerId, price: priceOf(now) }));
  }
}

function pick<T>(values: readonly T[]): T {
  return values[Math.floor(Math.random() * values.length)] as T;
}

function chanceOf({ runnerId, price }: Runner): Chance {
  return { runnerId, start: 1 / price, now: 1 / price };
}

function mayBe({ start }: Chance, chance: number): boolean {
  return Math.abs(chance - start) <= FURTHEST * start && priceOf(chance) >= LOWEST_PRICE;
}

function priceOf(chance: number): number {
  return Math.round(100 / chance) / 100;
}
