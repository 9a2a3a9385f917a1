import {
  Binary,
  type ClusterTime,
  type Document,
  type MongoClient,
  type ServerDescription,
  type Timestamp,
} from 'mongodb';
import { EventEmitter } from 'node:events';
import { messageOf } from '../common/text.js';
import { DRIVER_OPTIONS } from './driver-options.js';
import { ReadAfterTime } from './read-after-time.js';
import { isAuthenticationFailure } from './mongo-errors.js';

/** After a cut connection the driver does not know its server until the next heartbeat. Milliseconds. */
const FORGOTTEN_FOR_MS = DRIVER_OPTIONS.heartbeatFrequencyMS + 100;

/** Members that are a majority and reach one another have a primary again within this time. Milliseconds. */
const ELECTION_MAX_MS = 30_000;

const SECONDARY = 'RSSecondary';
const ARBITER = 'RSArbiter';

/** What the driver's monitors know of the servers. */
export class Topology {
  readonly readAfterTime = new ReadAfterTime();
  private servers: readonly ServerDescription[] = [];
  /** Of the servers that were known last: a read may wait for one that is not known at the moment. */
  private lastTypes: readonly string[] = [];
  /** By address, the newest write that a server had at its last heartbeat. */
  private readonly lastWrites = new Map<string, Timestamp | undefined>();
  private lastReadableAt = -Infinity;
  /** When a primary was known last, if only by its name. */
  private lastNamedAt = performance.now();
  /** `primary`: one is known now. `primaryLost`: none is known any more. */
  readonly events = new EventEmitter<{ primary: []; primaryLost: [] }>().setMaxListeners(0);
  /** Whether MongoDB has let us in and has refused no read since. Monitors can't tell, since they need no login. */
  hasAccess = false;

  /** Listens to a client that has not yet connected: its first descriptions must not be missed. */
  follow(client: MongoClient): void {
    this.hasAccess = false;
    client.on('topologyDescriptionChanged', ({ newDescription }) => {
      const { readable: wasReadable, hasPrimary: hadPrimary } = this;
      if (wasReadable) this.lastReadableAt = performance.now();
      if (hadPrimary || this.secondariesNamePrimary) this.lastNamedAt = performance.now();
      this.servers = [...newDescription.servers.values()];
      const types = this.servers.map(({ type }) => type).filter((type) => type !== 'Unknown');
      if (types.length > 0) this.lastTypes = types;
      if (!wasReadable && this.readable) this.readAfterTime.beginAnew();
      if (this.hasPrimary) this.events.emit('primary');
      else if (hadPrimary) this.events.emit('primaryLost');
      if (this.servers.some(({ error }) => isAuthenticationFailure(error))) this.hasAccess = false;
    });
    client.on('connectionReady', () => {
      this.hasAccess = true;
    });
    client.on('serverHeartbeatSucceeded', ({ connectionId: address, reply }) => {
      const newestWrite: Timestamp | undefined = reply.lastWrite?.opTime?.ts;
      this.lastWrites.set(address, newestWrite);
      this.readAfterTime.advance(signedTimeOf(reply));
      if (reply.isWritablePrimary && newestWrite) this.readAfterTime.noteNewestWrite(newestWrite);
    });
  }

  /** Whether there is a server whose answers are never behind. */
  get hasPrimary(): boolean {
    return this.servers.some(({ isWritable }) => isWritable);
  }

  /** For the log: what each server is, and why it can't be reached. */
  get summary(): string {
    const each = this.servers.map(({ address, type, error }) => {
      const why = error ? ` (${messageOf(error)})` : '';
      return `${address} ${type}${why}`;
    });
    return each.join(', ') || 'not connected';
  }

  /** Whether some server can be read. */
  get readable(): boolean {
    return this.hasPrimary || (this.secondaries.length > 0 && this.hasMajority && this.mayElect);
  }

  /** Whether some server can be read, or could a moment ago: the driver may find it again. */
  get mayBeReadable(): boolean {
    return this.readable || performance.now() - this.lastReadableAt < FORGOTTEN_FOR_MS;
  }

  /** Whether no server is known but secondaries, which prove nothing of what a primary writes. */
  get hasOnlySecondaries(): boolean {
    return this.secondaries.length > 0 && this.secondaries.length === this.servers.length;
  }

  get isSharded(): boolean {
    return this.lastTypes.includes('Mongos');
  }

  /** Whether a read can be of one point in time: not on a standalone server. */
  get hasSnapshots(): boolean {
    return !this.lastTypes.includes('Standalone');
  }

  /** The newest write that any reachable secondary had when it was last heard. */
  get newestOnSecondaries(): Timestamp | undefined {
    const times = this.secondaries.flatMap(({ address }) => this.lastWrites.get(address) ?? []);
    return times.toSorted((one, other) => one.compare(other)).at(-1);
  }

  /** Whether a reachable secondary knows of a primary: then writes go on that we can't see. */
  get secondariesNamePrimary(): boolean {
    return this.secondaries.some(({ primary }) => primary !== null);
  }

  /**
   * Whether more members that surely vote are reached than are away. Else those that are away could be a majority with
   * a primary that we can't see, which acknowledges writes that the others lack. One without priority may have no vote,
   * so it is not counted. One more hidden voter, which is in no list, makes those that are away no majority.
   */
  private get hasMajority(): boolean {
    const members = new Set(this.secondaries.flatMap(({ allHosts }) => allHosts));
    const reached = this.servers.filter(
      ({ type, address }) => (type === SECONDARY || type === ARBITER) && members.has(address),
    );
    const passives = this.secondaries.flatMap((server) => server.passives);
    const voting = reached.filter(({ address }) => !passives.includes(address));
    return voting.length > members.size - reached.length;
  }

  /** A majority elects a primary in time. If there was none for longer, hidden voters must be among the others. */
  private get mayElect(): boolean {
    return this.secondariesNamePrimary || performance.now() - this.lastNamedAt < ELECTION_MAX_MS;
  }

  private get secondaries(): ServerDescription[] {
    return this.servers.filter(({ type }) => type === SECONDARY);
  }
}

/** A monitor hands the signature's hash over as bytes, which sessions don't take. */
function signedTimeOf({ $clusterTime: time }: Document): ClusterTime | undefined {
  if (!time?.signature) return time;
  const { hash, keyId } = time.signature;
  const asBinary = hash instanceof Uint8Array ? new Binary(hash) : hash;
  return { ...time, signature: { hash: asBinary, keyId } };
}
