import { afterEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { promisify } from 'node:util';

let server: Server;

async function serve(listener: RequestListener, host = '127.0.0.1'): Promise<number> {
  server = createServer(listener).listen(0, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('No port to be had');
  return address.port;
}

/** What the health check writes to stderr; it fails if the check does. */
async function check(port: number, { probe = 'live', host = '127.0.0.1' } = {}): Promise<string> {
  const env = { ...process.env, HOST: host, PORT: String(port) };
  const args = ['dist/health-check.js', probe];
  return (await promisify(execFile)(process.execPath, args, { env })).stderr;
}

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

describe("the image's health check", () => {
  it('finds no fault where the probe says 200', async () => {
    const asked: unknown[] = [];
    const port = await serve((request, response) => {
      asked.push(request.url);
      response.end('{}');
    });
    expect(await check(port)).toBe('');
    expect(asked).toEqual(['/health/live']);
  });

  it('asks on loopback a server that listens everywhere', async () => {
    const port = await serve((_request, response) => response.end('{}'), '0.0.0.0');
    expect(await check(port, { probe: 'ready', host: '' })).toBe('');
  });

  it('passes on that the server is not ready', async () => {
    const port = await serve((_request, response) => {
      response.writeHead(503).end();
    });
    const failed = check(port, { probe: 'ready' });
    await expect(failed).rejects.toMatchObject({ code: 1, stderr: '/health/ready says 503\n' });
  });

  it('does not wait long for a server that hangs', async () => {
    const began = performance.now();
    const failed = check(await serve(() => undefined));
    await expect(failed).rejects.toMatchObject({ stderr: '/health/live does not answer\n' });
    // Meant are 2.5 s; a busy machine gets more.
    expect(performance.now() - began).toBeLessThan(20_000);
  });

  it('tells of a server that is not there', async () => {
    const port = await serve(() => undefined);
    server.close();
    await once(server, 'close');
    await expect(check(port)).rejects.toThrow('ECONNREFUSED');
  });
});
