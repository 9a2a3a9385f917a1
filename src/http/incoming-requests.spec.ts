import { expect, it } from '@jest/globals';
import express, { type Response } from 'express';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import type { ApiRequest } from './api-request.js';
import { HTTP_LIMITS } from './http-limits.js';
import { IncomingRequests } from './incoming-requests.js';
import { messageClasses } from './message-classes.js';

it('cuts off who sends far too many requests ahead, since each takes memory', async () => {
  const observer = { closed: () => undefined, refused: () => undefined };
  const incoming = new IncomingRequests(() => undefined, {
    limits: HTTP_LIMITS,
    observer,
    cors: undefined,
  });
  let received = 0;
  const messages = messageClasses(express(), () => undefined);
  const server = createServer(messages).on('request', (request: ApiRequest, response: Response) => {
    received += 1;
    incoming.receive(request, response);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  // What it has not sent yet is reset.
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').resume();
  client.on('error', () => undefined);
  const { pipelined } = HTTP_LIMITS;
  client.write('GET /x HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1_000 * pipelined));
  await new Promise((resolve) => client.once('close', resolve));
  server.close();
  expect(received).toBeGreaterThan(60 * pipelined);
  expect(received).toBeLessThan(200 * pipelined);
});
