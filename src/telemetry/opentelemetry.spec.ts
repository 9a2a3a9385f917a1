import { expect, it, jest } from '@jest/globals';
import { loadPackages } from './opentelemetry.js';

function broken(): never {
  throw new Error('broken');
}

it('takes no package that fails for one that is not installed', async () => {
  for (const name of ['sdk-node', 'api', 'instrumentation-mongodb'])
    jest.unstable_mockModule(`@opentelemetry/${name}`, broken, { virtual: true });
  await expect(loadPackages()).rejects.toThrow('broken');
});
