import { expect, it } from '@jest/globals';
import { MongodFailed } from './mongod-failed.js';

it('tells what mongod said, though the last line of its log is cut', () => {
  const log = [
    '{"s":"I","msg":"Starting"}',
    '{"s":"F","msg":"Failed","attr":{"error":"DBPathInUse: locked"}}',
    '{"s":"F","msg":"Aborting',
  ];
  const failed = new MongodFailed(log);
  expect(failed.message).toBe(
    'mongod did not start: DBPathInUse: locked; {"s":"F","msg":"Aborting',
  );
  expect(failed.isAlreadyInUse).toBe(true);
});
