import { expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { testDatabaseUri } from '../mongo.js';
import { startProcess } from '../services.js';

const STREAMS = 1_000;

/** Of 16 KiB: in memory such heads take more than 0.1 MB each. */
const SHORT_HEADERS = {
  'of one name': 'a:\r\n'.repeat(3_500),
  'of many names': Array.from({ length: 1_700 }, (_, index) => `a${index}:\r\n`).join(''),
};

it.each(Object.entries(SHORT_HEADERS))(
  'keeps nothing of the heads of open streams, thousands of headers each, %s',
  async (_names, headers) => {
    const service = await startProcess(testDatabaseUri(), {
      env: { STREAMS_PER_KEY: String(STREAMS) },
      nodeArgs: ['--max-old-space-size=96'],
    });
    const streams: Socket[] = [];
    try {
      while (streams.length < STREAMS) {
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
