import { once } from 'node:events';
import { createServer } from 'node:net';

/** A port of 127.0.0.1 that is free now; another process may take it before it is used. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('No port to be had');
  return address.port;
}
