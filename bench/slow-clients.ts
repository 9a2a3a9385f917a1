/** Clients that hold connections up, in a process of their own: silent, dripping their request, or not reading their answers. */
import { connect, type Socket } from 'node:net';
import { constants, setPriority } from 'node:os';
import { obey } from './orders.js';

export interface SlowClients {
  readonly port: number;
  readonly key: string;
  /** How many clients of each kind. */
  readonly silent: number;
  readonly dripping: number;
  readonly notReading: number;
  /** What those who don't read ask for: an answer of 2 MB or more. */
  readonly path: string;
}

export interface SlowClientsState {
  readonly opened: number;
  readonly open: number;
  /** Connections that were answered 408. */
  readonly timedOut: number;
  /** Milliseconds from opening a connection until the server closed it, at most. */
  readonly longest: number;
}

const OPENED_AT_ONCE = 100;
const OPEN_EVERY_MS = 50;
const DRIP_EVERY_MS = 400;
/** The system takes some 4 MB for a client that does not read: so many answers of 2 MB leave some to the server. */
const PIPELINED = 4;

const state = { opened: 0, open: 0, timedOut: 0, longest: 0 };

function open(port: number): Socket {
  const socket = connect(port, '127.0.0.1');
  const openedAt = performance.now();
  state.opened += 1;
  state.open += 1;
  socket.on('error', () => undefined);
  socket.once('close', () => {
    state.open -= 1;
    state.longest = Math.max(state.longest, performance.now() - openedAt);
  });
  return socket;
}

function readStatus(socket: Socket): void {
  socket.once('data', (chunk: Buffer) => {
    if (chunk.toString('latin1', 9, 12) === '408') state.timedOut += 1;
  });
  socket.resume();
}

function drip(socket: Socket): void {
  const text = 'GET /v1/markets/market/fixture/x HTTP/1.1\r\nHost: x\r\n';
  let sent = 0;
  const timer = setInterval(() => socket.write(text[sent++ % text.length] ?? ''), DRIP_EVERY_MS);
  socket.once('close', () => clearInterval(timer));
}

async function run(order: SlowClients): Promise<void> {
  const { port, key, path, silent, dripping, notReading } = order;
  const request = `GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\n\r\n`.repeat(PIPELINED);
  const kinds: ((socket: Socket) => void)[] = [
    ...Array.from({ length: silent }, () => readStatus),
    ...Array.from({ length: dripping }, () => (socket: Socket) => {
      readStatus(socket);
      drip(socket);
    }),
    ...Array.from({ length: notReading }, () => (socket: Socket) => {
      socket.pause();
      socket.write(request);
    }),
  ];
  for (const [index, become] of kinds.entries()) {
    become(open(port));
    if (index % OPENED_AT_ONCE === 0)
      await new Promise((resolve) => setTimeout(resolve, OPEN_EVERY_MS));
  }
}

// Such clients are on machines of their own: here they get the processor time that is left.
setPriority(constants.priority.PRIORITY_LOW);

obey(async (order: SlowClients | 'state'): Promise<SlowClientsState | undefined> => {
  if (order === 'state') return state;
  // Clients are opened while the parent goes on.
  void run(order);
  return undefined;
});
