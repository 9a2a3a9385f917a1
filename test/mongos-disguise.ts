import { BSON } from 'mongodb';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Fields of a greeting that tell of a replica set. */
const OF_REPLICA_SETS = [
  'setName',
  'setVersion',
  'hosts',
  'primary',
  'me',
  'electionId',
  'secondary',
];

const HEADER_BYTES = 16;
/** Header, flags, and the kind of the one section. */
const BODY_STARTS = 21;
const OP_REPLY = 1;
const OP_REPLY_BODY_STARTS = 36;

/**
 * A mongod that introduces itself as a mongos, and is one as far as a client can tell that asks no more: a
 * proxy that alters greetings and nothing else.
 */
export class MongosDisguise {
  private readonly sockets = new Set<Socket>();
  private readonly server = createServer((client) => this.pass(client));

  private constructor(private readonly mongodPort: number) {}

  static async of(mongodPort: number): Promise<MongosDisguise> {
    const disguise = new MongosDisguise(mongodPort);
    disguise.server.listen(0, '127.0.0.1');
    await once(disguise.server, 'listening');
    return disguise;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private pass(client: Socket): void {
    const mongod = connect(this.mongodPort, '127.0.0.1');
    let unread: Buffer = Buffer.alloc(0);
    client.pipe(mongod);
    mongod.on('data', (chunk: Buffer) => {
      unread = Buffer.concat([unread, chunk]);
      while (unread.length >= HEADER_BYTES && unread.length >= unread.readInt32LE(0)) {
        const length = unread.readInt32LE(0);
        client.write(disguised(unread.subarray(0, length)));
        unread = unread.subarray(length);
      }
    });
    for (const [one, other] of [
      [client, mongod],
      [mongod, client],
    ] as const) {
      this.sockets.add(one);
      one.on('error', () => undefined);
      one.once('close', () => {
        this.sockets.delete(one);
        other.destroy();
      });
    }
  }
}

/** A message of MongoDB's wire protocol, altered if it is a greeting. */
function disguised(message: Buffer): Buffer {
  const isOld = message.readInt32LE(12) === OP_REPLY;
  const start = isOld ? OP_REPLY_BODY_STARTS : BODY_STARTS;
  const length = message.readInt32LE(start);
  const reply = BSON.deserialize(message.subarray(start, start + length), { promoteValues: false });
  if (!('topologyVersion' in reply) || !('maxWireVersion' in reply)) return message;
  for (const field of OF_REPLICA_SETS) delete reply[field];
  const body = BSON.serialize({ ...reply, msg: 'isdbgrid' });
  const altered = Buffer.concat([
    message.subarray(0, start),
    body,
    message.subarray(start + length),
  ]);
  altered.writeInt32LE(altered.length, 0);
  return altered;
}
