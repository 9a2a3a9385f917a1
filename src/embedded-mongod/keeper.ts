/**
 * The keeper of an embedded MongoDB, a process of its own: starts mongod on a data path, lets users in by
 * a socket that each holds open, and ends mongod and itself when the last one has gone. The process that
 * started it counts as a user until it lets go of the message channel.
 *
 * mongod's own lock on the data path decides between two keepers. Killed itself, the keeper takes its
 * mongod along (see MongodProcess); a mongod that dies is started again.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { freePort } from './free-port.js';
import { readKeeperFile, writeKeeperFile } from './keeper-file.js';
import { MongodFailed, MongodProcess } from './mongod-process.js';
import { findPathHolder, killPathHolder } from './path-holder.js';
import { readLine } from './read-line.js';
import { formReplicaSet } from './replica-set.js';

/** What a keeper tells the process that started it. */
export type KeeperNews =
  | { readonly state: 'ready' }
  | { readonly state: 'path-in-use'; readonly reason: string }
  | { readonly state: 'failed'; readonly reason: string };

const REPLICA_SET = 'embedded';

/** How often mongod is started again after it died, before the keeper gives up. */
const RESTARTS = 5;

/** Time for a newcomer to show the token, in ms. */
const GREETING_TIMEOUT = 5_000;

class Keeper {
  private readonly token = randomBytes(16).toString('hex');
  private readonly users = new Set<Socket>();
  private readonly server: Server;
  private restarts = 0;
  private ending = false;
  private uri = '';
  private mongod!: MongodProcess;

  constructor(
    private readonly dbPath: string,
    private readonly program: string,
  ) {
    // Half open: a user who says goodbye hears back once that is done.
    this.server = createServer({ allowHalfOpen: true }, (socket) => void this.letIn(socket));
  }

  async open(): Promise<void> {
    const known = (await readKeeperFile(this.dbPath))?.mongodPort;
    this.mongod = await this.startMongod(known ?? (await freePort()));
    this.uri = await formReplicaSet(REPLICA_SET, [this.mongod.port]);
    void this.mongod.gone.then(() => this.revive());
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    const address = this.server.address();
    if (address === null || typeof address === 'string') throw new Error('No port to be had');
    await writeKeeperFile(this.dbPath, {
      pid: process.pid,
      port: address.port,
      token: this.token,
      mongodPort: this.mongod.port,
    });
  }

  /** Ends mongod, then the keeper, if nobody is left. */
  async endIfUnused(): Promise<void> {
    if (this.users.size === 0 && !process.connected) await this.end();
  }

  async end(): Promise<void> {
    if (this.ending) return;
    this.ending = true;
    this.server.close();
    await this.mongod.stop();
    process.exit(0);
  }

  private async startMongod(port: number): Promise<MongodProcess> {
    const { dbPath, program } = this;
    try {
      return await MongodProcess.start({ program, dbPath, port, replicaSet: REPLICA_SET });
    } catch (error) {
      if (!(error instanceof MongodFailed) || error.reason === 'other') throw error;
      // A mongod that runs on the path has the port that we want, too.
      const holder = await findPathHolder(dbPath);
      if (holder?.orphaned) {
        await killPathHolder(holder);
        return this.startMongod(port);
      }
      if (holder) throw new MongodFailed('path-in-use', error.message);
      if (error.reason === 'port-in-use') return this.startMongod(await freePort());
      throw error;
    }
  }

  /** Starts a mongod that died, on its old port: the users' connection strings stay true. */
  private async revive(): Promise<void> {
    if (this.ending) return;
    this.restarts += 1;
    if (this.restarts > RESTARTS) process.exit(1);
    this.mongod = await this.startMongod(this.mongod.port);
    void this.mongod.gone.then(() => this.revive());
  }

  private async letIn(socket: Socket): Promise<void> {
    socket.on('error', () => socket.destroy());
    const timeout = setTimeout(() => socket.destroy(), GREETING_TIMEOUT);
    const greeting = await readLine(socket);
    clearTimeout(timeout);
    if (greeting !== this.token || this.ending) {
      socket.destroy();
      return;
    }
    this.users.add(socket);
    const leave = () => void this.letGo(socket);
    socket.once('end', leave).once('close', leave);
    socket.write(`${this.uri}\n`);
  }

  private async letGo(socket: Socket): Promise<void> {
    if (!this.users.delete(socket)) return;
    // The last one's socket stays open until mongod is gone.
    if (this.users.size > 0 || process.connected) socket.end();
    await this.endIfUnused();
  }
}

async function tell(news: KeeperNews): Promise<void> {
  if (process.connected) await new Promise((resolve) => process.send?.(news, resolve));
}

/** Before the keeper is open, only its starter wants it; mongod ends with it. */
function abandon(): never {
  process.exit(1);
}

const [dbPath = '', program = ''] = process.argv.slice(2);
const keeper = new Keeper(dbPath, program);
process.on('SIGHUP', () => undefined);
try {
  process.once('disconnect', abandon);
  if (!process.connected) abandon();
  await keeper.open();
  process.off('disconnect', abandon);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void keeper.end());
  process.on('disconnect', () => void keeper.endIfUnused());
  await tell({ state: 'ready' });
  await keeper.endIfUnused();
} catch (error) {
  process.off('disconnect', abandon);
  const reason = error instanceof Error ? error.message : String(error);
  const taken = error instanceof MongodFailed && error.reason === 'path-in-use';
  await tell({ state: taken ? 'path-in-use' : 'failed', reason });
  process.exit(1);
}
