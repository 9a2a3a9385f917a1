import { expect, it, jest } from '@jest/globals';
import type { Server } from 'node:http';
import { HTTP_LIMITS } from './http-limits.js';
import { HttpServerAdapter } from './http-server.js';

it('lets the system queue thousands who connect at once: whom it drops waits a second', () => {
  const observer = { closed: () => undefined, refused: () => undefined };
  const adapter = new HttpServerAdapter({ limits: HTTP_LIMITS, observer, cors: undefined });
  adapter.initHttpServer();
  const server: Server = adapter.getHttpServer();
  const listen = jest.spyOn(server, 'listen').mockReturnValue(server);
  adapter.listen(0, '127.0.0.1', () => undefined);
  expect(listen.mock.calls[0]?.[0]).toEqual({ port: 0, host: '127.0.0.1', backlog: 4_096 });
});
