import { BSON, type Document, type Timestamp } from 'mongodb';
import type { Socket } from 'node:net';
import { Relay } from './relay.js';

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
const OP_MSG = 2013;
const OP_REPLY_BODY_STARTS = 36;

/**
 * A mongod that introduces itself as a mongos, and is one as far as a client can tell that asks no more: a
 * proxy that alters greetings, and takes for a snapshot the time that it has heard of last, as a mongos does.
 */
export class MongosDisguise extends Relay {
  private heard: Timestamp | undefined;

  protected carry(client: Socket, mongod: Socket): void {
    onEachMessage(client, (message) => mongod.write(this.asked(message)));
    onEachMessage(mongod, (message) => client.write(this.answered(message)));
  }

  /** A command, with a time for its snapshot where it names none. */
  private asked(message: Buffer): Buffer {
    if (message.readInt32LE(12) !== OP_MSG) return message;
    return altered(message, (command) => {
      const { readConcern } = command;
      if (readConcern?.level !== 'snapshot' || !this.heard) return undefined;
      const { afterClusterTime = this.heard, ...others } = readConcern;
      const atClusterTime = afterClusterTime.greaterThan(this.heard)
        ? afterClusterTime
        : this.heard;
      return { ...command, readConcern: { ...others, atClusterTime } };
    });
  }

  /** A reply, as that of a mongos if it is a greeting. */
  private answered(message: Buffer): Buffer {
    return altered(message, (reply) => {
      this.heard = reply['$clusterTime']?.clusterTime ?? this.heard;
      if (!('topologyVersion' in reply) || !('maxWireVersion' in reply)) return undefined;
      for (const field of OF_REPLICA_SETS) delete reply[field];
      return { ...reply, msg: 'isdbgrid' };
    });
  }
}

/** Calls back with each message of MongoDB's wire protocol. */
function onEachMessage(socket: Socket, take: (message: Buffer) => void): void {
  let unread: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    unread = Buffer.concat([unread, chunk]);
    while (unread.length >= HEADER_BYTES && unread.length >= unread.readInt32LE(0)) {
      const length = unread.readInt32LE(0);
      take(unread.subarray(0, length));
      unread = unread.subarray(length);
    }
  });
}

/** A message with another body, unless that stays as it is. */
function altered(message: Buffer, alter: (body: Document) => Document | undefined): Buffer {
  const isOld = message.readInt32LE(12) === OP_REPLY;
  const start = isOld ? OP_REPLY_BODY_STARTS : BODY_STARTS;
  const end = start + message.readInt32LE(start);
  const body = alter(BSON.deserialize(message.subarray(start, end), { promoteValues: false }));
  if (!body) return message;
  const parts = [message.subarray(0, start), BSON.serialize(body), message.subarray(end)];
  const whole = Buffer.concat(parts);
  whole.writeInt32LE(whole.length, 0);
  return whole;
}
