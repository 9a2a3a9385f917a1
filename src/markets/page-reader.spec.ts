import { expect, it, jest } from '@jest/globals';
import type { Database } from '../database/database.js';
import { overloaded } from '../http/problem.js';
import { PageReader } from './page-reader.js';

it('asks for at most four pages by one command, however many look-ups come at once', async () => {
  const read = jest.fn(async () => []);
  const topology = { hasSnapshots: true };
  const reader = new PageReader({ topology, read } as unknown as Database);
  const lookUp = (_: unknown, id: number) => reader.read(`eventId:${id}`, { page: 1, take: 10 });
  await Promise.all(Array.from({ length: 9 }, lookUp));
  expect(read).toHaveBeenCalledTimes(3);
});

it('asks an overloaded database no more for look-ups whose shared command it refused', async () => {
  const read = jest.fn(async () => {
    throw overloaded();
  });
  const topology = { hasSnapshots: true };
  const reader = new PageReader({ topology, read } as unknown as Database);
  const lookUp = (eventId: string) => reader.read(`eventId:${eventId}`, { page: 1, take: 10 });
  const answers = await Promise.allSettled(['a', 'b', 'c'].map(lookUp));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 'rejected'));
  expect(read).toHaveBeenCalledTimes(1);
});
