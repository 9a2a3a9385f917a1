import { readArguments } from './read-arguments.js';

const USAGE = `Usage: npm run bench -- [--markets 1000000] [--rounds 5] [--quick] [--docs]

  --markets N  so many markets in the database
  --rounds N   so many rounds in place of the usual five
  --quick      few and short rounds: a first idea
  --docs       measure the curves, too, and write docs/performance.md with its pictures

NODE_24 names a program of Node 24, on which the service is then measured, too.
MONGODB_URI is used if set (databases of its own, dropped at the end), else a mongod is started.
`;

/** Enough for the popular events to be 200 different ones. */
const MARKETS_MIN = 10_000;
const MARKETS_MAX = 100_000_000;

/** What the command line asks for. */
export interface BenchOptions {
  readonly markets: number;
  /** Unset: as many as is usual. */
  readonly rounds: number | undefined;
  readonly quick: boolean;
  readonly docs: boolean;
}

export function readOptions(): BenchOptions {
  const options = {
    markets: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '' },
    quick: { type: 'boolean', default: false },
    docs: { type: 'boolean', default: false },
  } as const;
  const { values } = readArguments(USAGE, { options }, (found) => {
    const markets = Number(found.values.markets);
    const isMany =
      Number.isSafeInteger(markets) && markets >= MARKETS_MIN && markets <= MARKETS_MAX;
    return isMany && (found.values.rounds === '' || Number(found.values.rounds) >= 1);
  });
  const rounds = values.rounds === '' ? undefined : Number(values.rounds);
  return { ...values, markets: Number(values.markets), rounds };
}
