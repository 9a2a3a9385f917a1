import { allTold, type TestApp } from './app.js';
import { StreamClient } from './watch-client.js';

/** Opens a stream once the service knows all that is written, so that it tells nothing twice. */
export async function openStream(
  of: Pick<TestApp, 'app' | 'url' | 'key'>,
  query: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<StreamClient> {
  const url = `${of.url}/v1/markets/stream?${query}`;
  for (;;) {
    await allTold(of);
    const stream = await StreamClient.open(url, { 'X-API-Key': of.key, ...headers });
    // While the feed is late on a busy machine, a stream is refused.
    if (stream.response.statusCode !== 503) return stream;
  }
}
