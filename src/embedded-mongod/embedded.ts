import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, realpath } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findMongod, type Say } from './find-mongod.js';
import type { KeeperNews } from './keeper.js';
import { readKeeperFile } from './keeper-file.js';
import { readLine } from './read-line.js';

/** A developer's MongoDB: a real mongod on 127.0.0.1, shared by all processes that open its data path. */
export interface EmbeddedMongo {
  readonly uri: string;
  /** Lets go of it. The last of its users ends mongod: resolves when that is gone. */
  close(): Promise<void>;
}

/** A user's place: as long as the socket is open, the keeper keeps mongod running. */
interface Seat {
  readonly uri: string;
  readonly socket: Socket;
}

/** Longest wait for a data path that another mongod is about to leave, in ms. */
const BUSY_TIMEOUT = 20_000;
const BUSY_PAUSE = 100;
/** Longest wait for an answer of a keeper, in ms. */
const GREETING_TIMEOUT = 5_000;
/** Longest wait for mongod to end, in ms. */
const CLOSE_TIMEOUT = 12_000;

/**
 * Opens the embedded MongoDB on a data path, made if need be: joins the one that runs there, or starts it.
 * A process that ends without `close` has let go of it too.
 * @throws Error that says why it can't run
 */
export async function openEmbedded(
  path: string,
  say: Say = () => undefined,
): Promise<EmbeddedMongo> {
  try {
    await mkdir(path, { recursive: true });
    const dbPath = await realpath(path);
    const seat = await takeSeat(dbPath, say);
    return keepSeat(seat, dbPath, say);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`The embedded MongoDB in ${path} can't run: ${reason}`, { cause: error });
  }
}

function keepSeat(first: Seat, dbPath: string, say: Say): EmbeddedMongo {
  let seat = Promise.resolve<Seat | undefined>(first);
  let closing = false;

  // A keeper that was killed has taken mongod along: start them again, on the same port.
  const watch = ({ socket, uri }: Seat) => {
    socket.unref();
    socket.once('close', () => {
      if (!closing) seat = reopen(uri);
    });
  };
  const reopen = async (uri: string) => {
    try {
      const next = await takeSeat(dbPath, say);
      watch(next);
      if (next.uri !== uri) say('The embedded MongoDB moved to another port: please start again');
      return next;
    } catch (error) {
      say(
        `The embedded MongoDB is lost: ${error instanceof Error ? error.message : String(error)}`,
      );
      return undefined;
    }
  };
  watch(first);

  return {
    uri: first.uri,
    async close() {
      closing = true;
      const last = await seat;
      if (last) await leave(last);
    },
  };
}

async function leave({ socket }: Seat): Promise<void> {
  if (socket.closed) return;
  socket.ref();
  const left = new Promise((resolve) => socket.once('close', resolve));
  socket.setTimeout(CLOSE_TIMEOUT, () => socket.destroy());
  socket.end();
  await left;
}

async function takeSeat(dbPath: string, say: Say): Promise<Seat> {
  const deadline = performance.now() + BUSY_TIMEOUT;
  for (;;) {
    const seat = (await join(dbPath)) ?? (await start(dbPath, say));
    if (seat) return seat;
    if (performance.now() > deadline) throw new Error('another mongod is using this data path');
    await delay(BUSY_PAUSE);
  }
}

/** Joins the keeper of the data path; undefined when none answers. */
async function join(dbPath: string): Promise<Seat | undefined> {
  const keeper = await readKeeperFile(dbPath);
  if (!keeper) return undefined;
  const socket = connect({ host: '127.0.0.1', port: keeper.port });
  socket.setTimeout(GREETING_TIMEOUT, () => socket.destroy());
  socket.on('error', () => socket.destroy());
  socket.write(`${keeper.token}\n`);
  const uri = await readLine(socket);
  // Another program may have got the port of a keeper that was killed.
  if (!uri?.startsWith('mongodb://127.0.0.1:')) {
    socket.destroy();
    return undefined;
  }
  socket.setTimeout(0);
  return { uri, socket };
}

/** Starts a keeper and joins it; undefined while another mongod has the data path. */
async function start(dbPath: string, say: Say): Promise<Seat | undefined> {
  const program = await findMongod(say);
  const keeper = fork(fileURLToPath(new URL('./keeper.js', import.meta.url)), [dbPath, program], {
    cwd: dbPath,
    // Its own session: a terminal's Ctrl-C must not reach it before its users are done.
    detached: true,
    env: { ...process.env, NODE_OPTIONS: '' },
    execArgv: [],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const news = await firstNews(keeper);
  try {
    if (news.state === 'ready') return await join(dbPath);
    if (news.state === 'failed') throw new Error(news.reason);
    return undefined;
  } finally {
    // From here on the socket tells the keeper that there is a user.
    if (keeper.connected) keeper.disconnect();
    keeper.unref();
  }
}

async function firstNews(keeper: ChildProcess): Promise<KeeperNews> {
  const told = once(keeper, 'message').then(([news]: KeeperNews[]) => news);
  // Not `exit`: that may overtake the message.
  const gone = once(keeper, 'disconnect').then(() => undefined);
  return (
    (await Promise.race([told, gone])) ?? { state: 'failed', reason: 'its keeper ended early' }
  );
}
