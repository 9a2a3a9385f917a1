// oxlint-disable-next-line import/no-unassigned-import
import './require-sources.cjs';
import { TestMongod } from './mongo.js';

declare global {
  var testMongod: TestMongod | undefined;
}

/** One MongoDB for the whole run; TEST_MONGODB_URI names another one (a replica set with test commands). */
export default async function globalSetup(): Promise<void> {
  if (process.env['TEST_MONGODB_URI']) return;
  globalThis.testMongod = await TestMongod.start();
  process.env['TEST_MONGODB_URI'] = globalThis.testMongod.uri;
}
