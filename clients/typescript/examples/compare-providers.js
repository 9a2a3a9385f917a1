// The best price of each selection over all providers, and the margin of betting on all of them:
// the sum of 1 / best price, less 1. It assumes that exactly one selection of a market type wins,
// and that equal names and lines mean the same selection with every provider.
import { MarketsClient } from 'markets-odds-client';

const { MARKETS_URL: baseUrl = '', MARKETS_KEY: apiKey = '', FIXTURE: fixtureId } = process.env;
const client = new MarketsClient({ baseUrl, apiKey });
const filters = { marketType: 'MATCH_ODDS', marketMoment: 'prelive', marketStatus: 'OPEN' };
const best = new Map();

for await (const { provider, runners = [] } of client.markets({ fixtureId, ...filters })) {
  for (const { name, line = '', price } of runners) {
    const selection = `${name} ${line}`.trim();
    if (price > (best.get(selection)?.price ?? 0)) best.set(selection, { price, provider });
  }
}

for (const [selection, { price, provider }] of best) console.log(selection, price, provider);
const margin = [...best.values()].reduce((sum, { price }) => sum + 1 / price, 0) - 1;
console.log(`margin ${(margin * 100).toFixed(1)} %`);
