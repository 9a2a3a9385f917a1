import { expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { ReadSlots } from './read-slots.js';

it('gives a slot to the next, though one who waited for it has given up', async () => {
  const slots = new ReadSlots(1);
  const held = new AbortController();
  const first = slots.run(1_000, () => once(held.signal, 'abort'));

  await expect(slots.run(20, () => Promise.resolve())).rejects.toMatchObject({
    code: 'overloaded',
  });
  held.abort();
  await first;

  await expect(slots.run(20, () => Promise.resolve('read'))).resolves.toBe('read');
  await expect(slots.run(20, () => Promise.resolve('read'))).resolves.toBe('read');
});

it('gives a slot back whatever became of the read', async () => {
  const slots = new ReadSlots(1);
  await expect(slots.run(20, () => Promise.reject(new Error('lost')))).rejects.toThrow('lost');
  await expect(slots.run(20, () => Promise.resolve('read'))).resolves.toBe('read');
});

it('knows how long reads take that fail, too: while all time out, nobody waits in vain', async () => {
  const slots = new ReadSlots(1);
  for (let reads = 0; reads < 20; reads += 1)
    await slots.run(1_000, () => delay(20).then(() => Promise.reject(new Error()))).catch(() => 0);
  const held = slots.run(1_000, () => delay(20));
  const another = slots.run(10, () => Promise.resolve());
  expect(slots.queueLength).toBe(0);
  await expect(another).rejects.toMatchObject({ code: 'overloaded' });
  await held;
});

it('does not take the wait for a slot for the time of a read', async () => {
  const slots = new ReadSlots(1);
  await Promise.all(Array.from({ length: 20 }, () => slots.run(10_000, () => delay(10))));
  const held = slots.run(1_000, () => delay(20));
  await expect(slots.run(100, () => Promise.resolve('read'))).resolves.toBe('read');
  await held;
});

it('tells of each read that it refuses, at once or after a wait', async () => {
  const slots = new ReadSlots(1);
  const refused = jest.fn();
  slots.onRefusal = refused;
  const held = new AbortController();
  const first = slots.run(1_000, () => once(held.signal, 'abort'));
  await expect(slots.run(20, () => Promise.resolve())).rejects.toMatchObject({
    code: 'overloaded',
  });
  expect(refused).toHaveBeenCalledTimes(1);
  held.abort();
  await first;
  // Now that it knows how long a read takes, it lets nobody wait who has no time.
  const second = slots.run(1_000, () => delay(20));
  const third = slots.run(0, () => Promise.resolve());
  expect(slots.queueLength).toBe(0);
  await expect(third).rejects.toMatchObject({ code: 'overloaded' });
  expect(refused).toHaveBeenCalledTimes(2);
  await second;
});

it('tells of no refusal of a read that got its slot in time', async () => {
  const slots = new ReadSlots(1);
  const refused = jest.fn();
  slots.onRefusal = refused;
  const first = slots.run(1_000, () => Promise.resolve());
  // It lasts longer than it might have waited.
  await slots.run(400, () => delay(250));
  await first;
  expect(refused).not.toHaveBeenCalled();
});
