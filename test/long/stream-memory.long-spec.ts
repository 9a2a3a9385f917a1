import { expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { testDatabaseUri } from '../mongo.js';
import { startProcess } from '../services.js';

/** Of 16 KiB: in memory such heads take more than 0.1 MB each. */
const OF_ONE_NAME = 'a:\r\n'.repeat(3_500);
const OF_MANY_NAMES = Array.from({ length: 1_700 }, (_, index) => `a${index}:\r\n`).join('');

it.each([
  {
    streams: 1_000,
    what: 'thousands of headers each, of one name',
    headers: OF_ONE_NAME,
    heapMb: 96,
  },
  { streams: 1_000, what: 'thousands of headers each', headers: OF_MANY_NAMES, heapMb: 96 },
  { streams: 5_000, what: 'all of one key', headers: '', heapMb: 128 },
])(
  'has room for $streams streams, $what, in a heap of $heapMb MB',
  async ({ streams: count, headers, heapMb }) => {
    const service = await startProcess(testDatabaseUri(), {
      env: { STREAMS_PER_KEY: String(count), RATE_LIMIT_PER_MINUTE: '0' },
      nodeArgs: [`--max-old-space-size=${heapMb}`],
    });
    const streams: Socket[] = [];
    try {
      while (streams.length < count) {
        const socket = connect(service.port, '127.0.0.1');
        socket.write(
          `GET /v1/markets/stream?eventId=e HTTP/1.1\r\nHost: a\r\nX-API-Key: ${service.key}\r\n${headers}\r\n`,
        );
        const [answer] = (await once(socket, 'data')) as [Buffer];
        // While the feed is late on a busy machine, a stream is refused.
        if (String(answer).startsWith('HTTP/1.1 200 ')) streams.push(socket.resume());
        else socket.destroy();
      }
      expect(service.hasEnded).toBe(false);
    } finally {
      for (const socket of streams) socket.destroy();
      await service.stop();
    }
  },
);
