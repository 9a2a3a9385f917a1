import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { probeFault } from './probe.js';

let server: Server;

async function serve(listener: RequestListener, host = '127.0.0.1'): Promise<number> {
  server = createServer(listener).listen(0, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('No port to be had');
  return address.port;
}

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

describe('probeFault', () => {
  it('finds no fault where the probe says 200', async () => {
    const asked: unknown[] = [];
    const port = await serve((request, response) => {
      asked.push(request.url);
      response.end('{}');
    });
    expect(await probeFault('live', { host: '127.0.0.1', port })).toBeUndefined();
    expect(asked).toEqual(['/health/live']);
  });

  it('asks on loopback a server that listens everywhere', async () => {
    const port = await serve((_request, response) => response.end('{}'), '0.0.0.0');
    expect(await probeFault('ready', { host: '0.0.0.0', port })).toBeUndefined();
  });

  it('passes on that the server is not ready', async () => {
    const port = await serve((_request, response) => {
      response.writeHead(503).end();
    });
    expect(await probeFault('ready', { host: '127.0.0.1', port })).toBe('/health/ready says 503');
  });

  it('does not wait long for a server that hangs', async () => {
    const port = await serve(() => undefined);
    expect(await probeFault('live', { host: '127.0.0.1', port })).toBe(
      '/health/live does not answer',
    );
  });

  it('tells of a server that is not there', async () => {
    const port = await serve(() => undefined);
    server.close();
    await once(server, 'close');
    expect(await probeFault('live', { host: '127.0.0.1', port })).toMatch(/ECONNREFUSED/);
  });
});
