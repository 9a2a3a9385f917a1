import { existsSync } from 'node:fs';
import { mkdir, realpath } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../common/text.js';
import { findMongod, type Say } from './find-mongod.js';
import { freePort } from './free-port.js';
import { MongodFailed } from './mongod-failed.js';
import { MongodProcess } from './mongod-process.js';
import { isRunning, markAsOurs, readOwner, REPLICA_SET, uriOf, writeOwner } from './owner.js';
import { formReplicaSet } from './replica-set.js';

/** A developer's MongoDB: a real mongod on 127.0.0.1. */
export interface EmbeddedMongo {
  readonly uri: string;
  /** Fails when mongod ends, if it is our own. */
  readonly ended: Promise<never>;
  /** Ends mongod, if it is our own: resolves when it is gone. A process that is killed takes its mongod along. */
  close(): Promise<void>;
}

interface EmbeddedOptions {
  /** Where the data are kept; made if need be. */
  readonly path: string;
  /** The name of our command, for others that wait for us. */
  readonly name: string;
  /** Whether others may use it while we run; else they wait. */
  readonly shared: boolean;
  /** Ends the wait for others. */
  readonly signal?: AbortSignal;
  /** How long to wait for a mongod that has the data path, but does not answer: it may be starting or ending. In ms. */
  readonly silentMongodMs?: number;
}

const SILENT_MONGOD_MS = 10_000;
const PAUSE_MS = 300;

const NEVER = new Promise<never>(() => undefined);

/**
 * Uses the embedded MongoDB of a running server, or starts one. Waits while a command has one on the data path.
 * @throws Error that says why it can't run
 */
export async function openEmbedded(options: EmbeddedOptions, say: Say): Promise<EmbeddedMongo> {
  try {
    await makeFolder(resolve(options.path));
    return await open({ ...options, path: await realpath(options.path) }, say);
  } catch (error) {
    if (options.signal?.aborted) throw error;
    const message = `The embedded MongoDB in ${options.path} (EMBEDDED_DB_PATH) can't run: ${messageOf(error)}`;
    throw new Error(message, { cause: error });
  }
}

/** Like `mkdir` with `recursive`, which never ends below /proc. */
async function makeFolder(path: string): Promise<void> {
  if (existsSync(path)) return;
  await makeFolder(dirname(path));
  await mkdir(path).catch((error: unknown) => {
    if (!existsSync(path)) throw error;
  });
}

async function open(options: EmbeddedOptions, say: Say): Promise<EmbeddedMongo> {
  const { path, signal, silentMongodMs = SILENT_MONGOD_MS } = options;
  let waitedFor: number | undefined;
  let givesUpAt = performance.now() + silentMongodMs;
  for (;;) {
    signal?.throwIfAborted();
    await markAsOurs(path);
    const owner = await readOwner(path);
    if (owner && (await isRunning(owner, path))) {
      if (owner.shared) return { uri: uriOf(owner), ended: NEVER, close: async () => undefined };
      if (waitedFor !== owner.pid) {
        say(`Waiting for ${owner.name} (process ${owner.pid}) to end: it is using ${path}`);
      }
      waitedFor = owner.pid;
      givesUpAt = performance.now() + silentMongodMs;
    } else {
      const embedded = await start(options, owner?.port, say);
      if (embedded) return embedded;
      if (performance.now() > givesUpAt) throw new Error('another mongod is using this data path');
    }
    await delay(PAUSE_MS);
  }
}

/** Starts a mongod of our own; undefined while another one has the data path. */
async function start(
  { path, name, shared }: EmbeddedOptions,
  lastPort: number | undefined,
  say: Say,
): Promise<EmbeddedMongo | undefined> {
  const program = await findMongod(say);
  const port = await freePort(lastPort);
  const options = { program, dbPath: path, port, replicaSet: REPLICA_SET };
  const mongod = await MongodProcess.start(options).catch((error: unknown) => {
    if (error instanceof MongodFailed && error.isAlreadyInUse) return undefined;
    throw error;
  });
  if (!mongod) return undefined;
  try {
    await writeOwner(path, { pid: process.pid, name, port, shared });
    const ended = mongod.gone.then((): never => {
      throw new Error('mongod has ended before it was ready: is the disk full?');
    });
    const uri = await Promise.race([formReplicaSet(REPLICA_SET, [port]), ended]);
    let isClosing = false;
    ended.catch(() => isClosing || say('The embedded MongoDB has ended: please start again'));
    const close = () => {
      isClosing = true;
      return mongod.stop();
    };
    return { uri, ended, close };
  } catch (error) {
    await mongod.stop();
    throw error;
  }
}
