import { expect, it } from '@jest/globals';
import { JsonBody } from './json-body.js';

it('weighs the memory that its compressed forms take', () => {
  const bodies = Array.from({ length: 200 }, () => new JsonBody([Buffer.alloc(2_000, 'odds ')]));
  const forms = bodies.flatMap((body) => [body.compress('br'), body.compress('gzip')]);
  // A small buffer may be a piece of a larger one, which others share.
  const taken = new Set(forms.map((form) => (form as Buffer).buffer));
  const inMemory = [...taken].reduce((sum, { byteLength }) => sum + byteLength, 0);
  const weighed = bodies.reduce((sum, { bytes, length }) => sum + bytes - length, 0);
  expect(inMemory).toBeLessThan(2 * weighed + Buffer.poolSize);
});
