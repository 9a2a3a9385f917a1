import { expect, it, jest } from '@jest/globals';
import { EventEmitter, once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { until } from '../../test/until.js';
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
  // The client keeps it for its next request.
  server.closeIdleConnections();
});

it('leaves an answer alone whose client has yet to read it when the server closes', async () => {
  const body = Buffer.alloc(32 * 1024 * 1024);
  const server = createServer((_request, response) => {
    response.end(body);
    server.close();
  });
  watchConnections(server, 60_000);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  await once(server, 'request');
  expect((await buffer(client)).length).toBeGreaterThan(body.length);
});

const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

it.each([
  ['nothing', '', 0, 1],
  ['half of a request', '', 5, 1],
  ['a request', REQUEST, 0, 2],
  ['a request and half of another', REQUEST, 5, 2],
])(
  'when the server closes, who has sent %s gets all answers to what comes at once',
  async (_what, first, half, answers) => {
    const server = createServer((_request, response) => void response.end('answer'));
    watchConnections(server, 1_000);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [socket] = (await once(server, 'connection')) as [Socket];
    client.write(first);
    await until(() => first === '' || client.bytesRead > 0);
    client.write(REQUEST.slice(0, half));
    await until(() => socket.bytesRead === first.length + half);
    server.close();
    client.end(REQUEST.slice(half));
    expect((await buffer(client)).toString().split('answer')).toHaveLength(1 + answers);
  },
);

it('when the server closes, half of a request may be followed by the rest after idle ones are closed', async () => {
  const server = createServer((_request, response) => void response.end('answer'));
  watchConnections(server, 1_000);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const [slow, idle] = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
  for (const client of [slow, idle]) client.write(REQUEST);
  await Promise.all([once(slow, 'data'), once(idle, 'data')]);
  const taken: number[] = [];
  server.on('request', ({ socket }) => taken.push(socket.bytesRead));
  slow.write(REQUEST.slice(0, 5));
  await until(() => slow.writableLength === 0);
  server.close();
  expect((await buffer(idle)).length).toBe(0);
  slow.end(REQUEST.slice(5));
  expect((await buffer(slow)).toString()).toContain('answer');
});

it.each([0, 2])(
  'closes a connection that is idle after %i requests a moment after the server',
  async (requests) => {
    const server = createServer((_request, response) => void response.end('answer'));
    server.keepAliveTimeout = 0;
    watchConnections(server, 1_000);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    await once(server, 'connection');
    for (let count = 0; count < requests; count += 1) {
      client.write(REQUEST);
      await once(client, 'data');
    }
    const closed = once(server, 'close');
    server.close();
    expect((await buffer(client)).length).toBe(0);
    await closed;
  },
);

it('forgets connections that are closed', async () => {
  const server = createServer();
  watchConnections(server, 1_000);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [socket] = (await once(server, 'connection')) as [Socket];
  client.destroy();
  await once(socket, 'close');
  const destroy = jest.spyOn(socket, 'destroy');
  server.close();
  server.closeIdleConnections();
  expect(destroy).not.toHaveBeenCalled();
});

it('a connection that is kept without a request outlasts who reads nothing of an answer', async () => {
  const body = Buffer.alloc(32 * 1024 * 1024);
  const server = createServer(
    ({ url }, response) => void response.end(url === '/large' ? body : 'answer'),
  );
  watchConnections(server, 150);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const kept = connect(port, '127.0.0.1');
  kept.write(REQUEST);
  await once(kept, 'data');
  const unread = connect(port, '127.0.0.1');
  const [socket] = (await once(server, 'connection')) as [Socket];
  unread.write(REQUEST.replace('/', '/large'));
  await once(socket, 'close');
  kept.end(REQUEST);
  expect((await buffer(kept)).toString()).toContain('answer');
  unread.destroy();
  server.close();
});

it('cuts off who reads nothing for so long, and hardly later', () => {
  jest.useFakeTimers();
  const server = new EventEmitter() as Server;
  watchConnections(server, 15_000);
  server.emit('listening');
  const destroy = jest.fn(() => socket);
  const answering = { writableLength: 1, bytesWritten: 1, destroy };
  const socket: EventEmitter = Object.assign(new EventEmitter(), answering);
  server.emit('connection', socket);
  jest.advanceTimersByTime(15_000);
  expect(destroy).not.toHaveBeenCalled();
  jest.advanceTimersByTime(2_000);
  expect(destroy).toHaveBeenCalled();
  jest.useRealTimers();
});
