import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { PassThrough } from 'node:stream';
import type { HttpSocket } from './connections.js';
import { refusedByProtocol } from './problem.js';
import { SocketRefusals } from './socket-refusal.js';

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

it('cuts off who goes on sending after a refusal, once it can have been read', () => {
  const refusals = new SocketRefusals({ closed: () => undefined, refused: () => undefined });
  const socket = new PassThrough();
  refusals.refuse(socket as unknown as HttpSocket, refusedByProtocol(431));
  jest.advanceTimersByTime(900);
  expect(socket.destroyed).toBe(false);
  jest.advanceTimersByTime(200);
  expect(socket.destroyed).toBe(true);
});

it('neither refuses nor cuts off again who goes on sending', () => {
  const refused = jest.fn<() => void>();
  const refusals = new SocketRefusals({ closed: () => undefined, refused });
  const socket = new PassThrough();
  for (let count = 0; count < 3; count += 1) {
    refusals.unreadable('HPE_INVALID_METHOD', socket as unknown as HttpSocket);
    jest.advanceTimersByTime(100);
  }
  expect(refused).toHaveBeenCalledTimes(1);
  expect(socket.destroyed).toBe(false);
});
