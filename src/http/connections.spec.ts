import { expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { watchConnections } from './connections.js';

it('leaves an answer under way alone when the server closes', async () => {
  let underWay: ServerResponse | undefined;
  const server = createServer((_request, response) => {
    underWay = response;
    response.write('one');
  });
  watchConnections(server, 1_000);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}`);
  server.close();
  underWay?.end(' two');
  expect(await answer.text()).toBe('one two');
});
