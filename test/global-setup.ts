// oxlint-disable-next-line import/no-unassigned-import
import './require-sources.cjs';
import { adminCommand } from '../src/embedded-mongod/replica-set.js';
import { TestMongod } from './mongo.js';

const OPLOG_MB = 2_000;

declare global {
  var testMongod: TestMongod | undefined;
}

/** One MongoDB for the whole run; TEST_MONGODB_URI names another one (a replica set with test commands). */
export default async function globalSetup(): Promise<void> {
  if (process.env['TEST_MONGODB_URI']) return;
  // What a TTL index deletes is deleted within a second in place of a minute.
  const args = ['--setParameter=ttlMonitorSleepSecs=1'];
  globalThis.testMongod = await TestMongod.start({ args });
  const { uri } = globalThis.testMongod;
  // What is known after a restart is read from its log, which must hold what all tests write.
  await adminCommand(uri, { replSetResizeOplog: 1, size: OPLOG_MB });
  process.env['TEST_MONGODB_URI'] = uri;
}
