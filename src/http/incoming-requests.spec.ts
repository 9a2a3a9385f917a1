import { afterEach, beforeEach, expect, it } from '@jest/globals';
import express, { type Response } from 'express';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { until } from '../../test/until.js';
import type { ApiRequest } from './api-request.js';
import { HTTP_LIMITS } from './http-limits.js';
import { IncomingRequests } from './incoming-requests.js';
import { messageClasses } from './message-classes.js';
import { PipelinedRequests } from './pipelined-requests.js';

let received: ApiRequest[];
let closed: Set<ApiRequest>;
let incoming: IncomingRequests;
let server: Server;
let client: Socket;

beforeEach(async () => {
  received = [];
  closed = new Set();
  incoming = new IncomingRequests(() => undefined, {
    // Nobody is refused for waiting too long, however slow the machine is.
    limits: { ...HTTP_LIMITS, inFlight: 1, queueMin: HTTP_LIMITS.queueMax, longestWaitMs: 10_000 },
    observer: { closed: (request) => void closed.add(request), refused: () => undefined },
    cors: undefined,
  });
  const app = express().get('/ids/:id', () => undefined);
  const messages = messageClasses(app, () => undefined);
  server = createServer(messages).on('request', (request: ApiRequest, response: Response) => {
    received.push(request);
    incoming.receive(request, response);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  client = newClient();
});

afterEach(() => {
  server.close();
  server.closeAllConnections();
});

function newClient(): Socket {
  // What it has not sent yet is reset when it is cut off.
  const { port } = server.address() as AddressInfo;
  return connect(port, '127.0.0.1')
    .resume()
    .on('error', () => undefined);
}

it('cuts off who sends far too many requests ahead, and makes nothing of those too many', async () => {
  const { pipelined } = HTTP_LIMITS;
  client.write('GET /x HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1_000 * pipelined));
  await new Promise((resolve) => client.once('close', resolve));
  // One is under way, and the last one is refused.
  expect(received.length).toBe(1 + pipelined + 1);
});

it('lets no more than ten thousand requests wait on all connections together', async () => {
  const { pipelined } = HTTP_LIMITS;
  const requests = 'GET /x HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1 + pipelined);
  const taken: Socket[] = [];
  server.on('connection', (socket) => void taken.push(socket));
  const clients = Array.from({ length: 400 }, newClient);
  for (const each of clients) each.write(requests);
  const areRead = () => taken.filter(({ bytesRead }) => bytesRead === requests.length).length;
  await until(() => areRead() === clients.length);
  expect(received.length).toBeGreaterThan(10_000);
  expect(received.length).toBeLessThan(10_000 + 2 * clients.length);
  for (const each of clients) each.destroy();
  await until(() => incoming['pipelined']['bytes'] === 0);
});

it('lets nobody’s turn come who has left while he waited', async () => {
  const responses: Response[] = [];
  server.on('request', (_request: ApiRequest, response: Response) => void responses.push(response));
  client.write('GET /x HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2));
  await until(() => responses.length === 2);
  const socket = received[1]?.socket;
  client.destroy();
  await until(() => socket?.closed === true);
  responses[1]?.emit('socket', socket);
  expect(incoming['pipelined']['bytes']).toBe(0);
});

it('lets fewer of them wait whose targets are long', () => {
  const pipelined = new PipelinedRequests(Infinity);
  const request = { socket: client, rawHeaders: [] as string[], url: 'x'.repeat(16_000) };
  let waiting = 0;
  while (pipelined.add(request as IncomingMessage)) waiting += 1;
  expect(waiting).toBeLessThan(2_200);
});

it('keeps nothing of a head once that of the answer is written: the rest may be read late', async () => {
  incoming.serve = (request, response) => {
    request.rawQuery = [['a', '']];
    response.writeHead(200).write('begun');
  };
  client.write('GET /x?a HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(client, 'data');
  expect(received).toMatchObject([{ rawHeaders: [], headers: {}, rawQuery: [] }]);
});

it('reads no query of a request that waits, since it takes far more memory than the text', async () => {
  const request = 'GET /x?a&a&a HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\n\r\n';
  // Behind one that is never answered, on its connection and on others.
  client.write(request.repeat(3));
  await until(() => received.length === 3);
  newClient().write(request);
  await until(() => received.length === 4);
  expect(received.map(({ requestId }) => requestId)).toEqual(['mine', ...Array(3)]);
  expect(received.filter(({ rawQuery }) => rawQuery)).toHaveLength(1);
});

it('begins a probe at once, whatever its query, and nothing else that begins like one', async () => {
  const rest = ' HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\n\r\n';
  client.write(`GET /never-answered${rest}`);
  await until(() => received.length === 1);
  const paths = ['/health/live', '/health/ready?from=balancer', '/metrics?', '/health/live/x'];
  for (const path of paths) newClient().write(`GET ${path}${rest}`);
  await until(() => received.length === 1 + paths.length);
  const begun = received.filter(({ requestId }) => requestId).map(({ url }) => url);
  expect(begun.toSorted()).toEqual(['/never-answered', ...paths.slice(0, 3)].toSorted());
});

it('tells of a client that left while it was served by the id that its request was given', async () => {
  client.write('GET /never-answered HTTP/1.1\r\nHost: x\r\n\r\n');
  await until(() => received[0]?.requestId !== undefined);
  const [request] = received;
  const { requestId } = { ...request };
  client.destroy();
  await until(() => request !== undefined && closed.has(request));
  expect(request?.requestId).toBe(requestId);
});

it('tells of a client that left while it waited by its request’s id and route, though the path is broken', async () => {
  client.write('GET /never-answered HTTP/1.1\r\nHost: x\r\n\r\n');
  await until(() => received.length === 1);
  const leaving = newClient();
  leaving.write('GET /ids/%?a/b HTTP/1.1\r\nHost: x\r\nX-Request-Id: waiting\r\n\r\n');
  await until(() => received.length === 2);
  leaving.destroy();
  const [, waiting] = received;
  await until(() => waiting !== undefined && closed.has(waiting));
  expect(waiting).toMatchObject({ requestId: 'waiting', route: { path: '/ids/:id' } });
});
