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

it('takes a read-only data path for no use by another', () => {
  const error =
    'DBPathInUse: Unable to create/open the lock file: /db/mongod.lock (Read-only file system)';
  const failed = new MongodFailed([JSON.stringify({ s: 'E', msg: 'Failed', attr: { error } })]);
  expect(failed.isAlreadyInUse).toBe(false);
  expect(failed.message).toContain('Read-only file system');
});

it('tells of a full disk, and nothing twice', () => {
  const detail = { msg: '__posix_file_write: WiredTiger.wt', error_str: 'No space left on device' };
  const line = { s: 'E', msg: 'WiredTiger error message', attr: { error: 28, message: detail } };
  const log = [
    JSON.stringify(line),
    JSON.stringify(line),
    ' ',
    '{"s":"F","msg":"Fatal assertion"}',
  ];
  expect(new MongodFailed(log).message).toBe(
    'mongod did not start: No space left on device; Fatal assertion',
  );
});
