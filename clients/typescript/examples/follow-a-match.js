// Follows the live odds of some fixtures, over cuts and restarts, and prints each price as it changes.
import { MarketsClient } from 'markets-odds-client';

const { MARKETS_URL: baseUrl = '', MARKETS_KEY: apiKey = '', FIXTURE = '' } = process.env;
const client = new MarketsClient({ baseUrl, apiKey });
const signal = AbortSignal.timeout(Number(process.env.SECONDS ?? 60) * 1_000);
const watch = client.watch({ fixtureId: FIXTURE.split(','), marketMoment: 'live' }, { signal });

for await (const event of watch) {
  if (event.type === 'late') console.log(`Prices may be ${event.ageMs} ms old.`);
  if (event.type === 'current') console.log('Up to date.');
  if (event.type !== 'markets') continue;
  for (const { provider, name, runners = [] } of event.changed) {
    console.log(
      provider,
      name,
      runners.map((runner) => `${runner.name} ${runner.price}`).join(', '),
    );
  }
}
