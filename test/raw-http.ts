import { once } from 'node:events';
import { connect, type AddressInfo, type Server, type Socket } from 'node:net';
import { promisify } from 'node:util';

/** An answer as it came off the wire. */
export interface RawAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  /** Status line and headers as sent. */
  readonly head: string;
  readonly body: string;
}

interface RawRequestOptions {
  /** How many answers to wait for; interim ones (1xx) don't count. */
  readonly answers?: number;
  /** The answers have no body, as after HEAD. */
  readonly bodiless?: boolean;
}

/** Sends bytes, one for each character, whatever HTTP thinks of them, and reads what comes back. */
export async function sendRaw(
  port: number,
  bytes: string,
  { answers = 1, bodiless = false }: RawRequestOptions = {},
): Promise<RawAnswer[]> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    socket.write(bytes, 'latin1');
    return await readAnswers(socket, { answers, bodiless });
  } finally {
    socket.destroy();
  }
}

/** Sends each request on a connection of its own, all at once: they arrive in one turn of the server's event loop. */
export async function sendTogether(
  server: Server,
  requests: readonly string[],
): Promise<RawAnswer[]> {
  const sockets = await openSockets(server, requests.length);
  sockets.forEach((socket, index) => socket.write(requests[index] ?? '', 'latin1'));
  const answers = await Promise.all(sockets.map((socket) => readAnswers(socket)));
  for (const socket of sockets) socket.destroy();
  return answers.flat();
}

/** Connections that the server has taken and both ends know of, so that what is written is sent at once. */
export async function openSockets(server: Server, count: number): Promise<Socket[]> {
  const { port } = server.address() as AddressInfo;
  const taken = new Promise<void>((resolve) => {
    let missing = count;
    const take = () => {
      missing -= 1;
      if (missing > 0) return;
      server.off('connection', take);
      resolve();
    };
    server.on('connection', take);
  });
  const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1'));
  await Promise.all([taken, ...sockets.map((socket) => once(socket, 'connect'))]);
  return sockets;
}

export function countConnections(server: Server): Promise<number> {
  return promisify((done: (error: Error | null, count: number) => void) =>
    server.getConnections(done),
  )();
}

/** Reads answers until there are enough of them or the server closes. */
export async function readAnswers(
  socket: Socket,
  { answers = 1, bodiless = false }: RawRequestOptions = {},
): Promise<RawAnswer[]> {
  const found: RawAnswer[] = [];
  let received: Buffer = Buffer.alloc(0);
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    received = Buffer.concat([received, chunk]);
    for (let next = split(received, bodiless); next; next = split(received, bodiless)) {
      received = next.rest;
      if (next.answer.status >= 200) found.push(next.answer);
    }
    if (found.length >= answers) return found;
  }
  return found;
}

/** Takes the first whole answer off the front. */
function split(
  received: Buffer,
  bodiless: boolean,
): { answer: RawAnswer; rest: Buffer } | undefined {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const head = received.subarray(0, headEnd).toString('latin1');
  const [statusLine = '', ...lines] = head.split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
  const headers = new Map(lines.map((line) => splitHeader(line)));
  const hasBody = !bodiless && status >= 200 && status !== 304;
  const end = headEnd + 4 + (hasBody ? Number(headers.get('content-length')) : 0);
  if (received.length < end) return undefined;
  const body = received.subarray(headEnd + 4, end).toString('utf8');
  return { answer: { status, headers, head, body }, rest: received.subarray(end) };
}

function splitHeader(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}
