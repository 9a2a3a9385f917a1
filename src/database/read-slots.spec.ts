import { expect, it } from '@jest/globals';
import { ReadSlots } from './read-slots.js';

it('gives a slot to the next, though one who waited for it has given up', async () => {
  const slots = new ReadSlots(1);
  let finish = () => {};
  const first = slots.run(1_000, () => new Promise<void>((resolve) => (finish = resolve)));

  await expect(slots.run(20, () => Promise.resolve())).rejects.toMatchObject({
    code: 'overloaded',
  });
  finish();
  await first;

  await expect(slots.run(20, () => Promise.resolve('read'))).resolves.toBe('read');
  await expect(slots.run(20, () => Promise.resolve('read'))).resolves.toBe('read');
});

it('gives a slot back whatever became of the read', async () => {
  const slots = new ReadSlots(1);
  await expect(slots.run(20, () => Promise.reject(new Error('lost')))).rejects.toThrow('lost');
  await expect(slots.run(20, () => Promise.resolve('read'))).resolves.toBe('read');
});
