import { expect, it } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { JsonBody } from './json-body.js';

it('weighs the memory that its compressed forms take', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const bodies = Array.from({ length: 2_000 }, () => new JsonBody([Buffer.alloc(2_000, 'odds ')]));
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  for (const body of bodies) {
    void body.compress('br');
    void body.compress('gzip');
  }
  // In the next turn of the event loop zlib lets go of what it used.
  await setImmediate();
  collectGarbage();
  const weighed = bodies.reduce((sum, { bytes, length }) => sum + bytes - length, 0);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(weighed + 1_000_000);
});
