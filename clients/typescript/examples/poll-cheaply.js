// Asks for the live markets of a fixture again and again: what did not change costs a 304 without a body.
import { MarketsClient } from 'markets-odds-client';

const {
  MARKETS_URL: baseUrl = '',
  MARKETS_KEY: apiKey = '',
  FIXTURE: fixtureId = '',
} = process.env;
const client = new MarketsClient({ baseUrl, apiKey });
const signal = AbortSignal.timeout(Number(process.env.SECONDS ?? 60) * 1_000);

try {
  for (;;) {
    const { data, meta } = await client.byFixture(fixtureId, { marketMoment: 'live' }, { signal });
    console.log(`${meta.itemCount} markets; ${data[0]?.name}:`, data[0]?.runners?.[0]?.price);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
} catch (error) {
  if (!signal.aborted) throw error;
}
