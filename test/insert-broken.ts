import { expect } from '@jest/globals';
import { BSON } from 'mongodb';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { TestApp } from './app.js';

const OP_MSG = 2_013;

/** Inserts markets with bytes that are no UTF-8 in the place of `??`, past the driver, which refuses. */
export async function insertBroken(app: TestApp, documents: readonly object[]): Promise<void> {
  const $db = app.database.db.databaseName;
  const command = Buffer.from(BSON.serialize({ insert: 'markets', documents, $db }));
  let bytes = [0xff, 0xfe];
  for (let at = command.indexOf('??'); at >= 0; at = command.indexOf('??')) {
    command.set(bytes, at);
    bytes = bytes.toReversed();
  }
  const message = Buffer.concat([Buffer.alloc(16 + 4 + 1), command]);
  message.writeInt32LE(message.length, 0);
  message.writeInt32LE(OP_MSG, 12);
  const [, port = ''] = /:(\d+)/.exec(app.config.mongodbUri ?? '') ?? [];
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(message);
  const [reply] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  expect(BSON.deserialize(reply.subarray(16 + 4 + 1))).toMatchObject({
    ok: 1,
    n: documents.length,
  });
}
