// oxlint-disable-next-line import/no-unassigned-import
import './require-sources.cjs';
import { TestMongod } from './mongo.js';

declare global {
  var testMongod: TestMongod | undefined;
}

/** One MongoDB for the whole run; TEST_MONGODB_URI names another one (a replica set with test commands). */
export default async function globalSetup(): Promise<void> {
  if (process.env['TEST_MONGODB_URI']) return;
  // What a TTL index deletes is deleted within a second in place of a minute.
  const args = ['--setParameter=ttlMonitorSleepSecs=1'];
  globalThis.testMongod = await TestMongod.start({ args });
  process.env['TEST_MONGODB_URI'] = globalThis.testMongod.uri;
}
