import common from '../../jest.config.js';

/** Faults are brought about one after the other: each would spoil the other's figures. */
export default {
  ...common,
  rootDir: '../..',
  testMatch: ['<rootDir>/test/chaos/*.chaos-spec.ts'],
  globalSetup: '<rootDir>/test/chaos/begin.ts',
  globalTeardown: '<rootDir>/test/chaos/end.ts',
  testTimeout: 300_000,
  maxWorkers: 1,
};
