import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { memoryOf } from '../../test/chaos/footprint.js';
import type { ServerProcess } from '../../test/server-process.js';
import { MARKETS_PER_EVENT } from '../bench-markets.js';
import { end, startScript } from '../scale/children.js';
import { median } from '../statistics.js';
import type { CrowdReport } from './crowd-orders.js';
import { Crowd } from './crowd.js';
import { atMost, exactly, note, type Finding } from './promise.js';
import { marketsOf, streamPaths, type Setting } from './setting.js';
import { UnsentBytes } from './unsent-bytes.js';

const UNREAD = 30;
const IDS_EACH = 50;
const EVENTS = 50;
const READERS = 100;
const PER_SECOND = 2_500;
const CHECK_EVERY_MS = 100;
const GIVE_UP_AFTER_MS = 90_000;

/** Changes by which the lag of those who read is measured. */
const MARKED = { markets: marketsOf(EVENTS), perSecond: 50, seconds: 4 };
const ROUNDS_ALONE = 4;

/** Clients that never read, beside others that do. */
export async function measureUnread({ stage }: Setting): Promise<Finding[]> {
  const [service] = await stage.start(1);
  if (!service) return [];
  const { port } = service;
  const { key } = await stage.issueKey();
  const { uri } = stage;
  const crowd = new Crowd();
  const writer = startScript('writer.js', [
    uri,
    String(EVENTS * MARKETS_PER_EVENT),
    String(PER_SECOND),
  ]);
  const round = async (): Promise<CrowdReport> => {
    await crowd.write({ uri, ...MARKED });
    return crowd.report();
  };
  let sockets: Socket[] = [];
  try {
    await crowd.open({ key, port, paths: streamPaths(READERS, EVENTS) });
    await round();
    const alone: CrowdReport[] = [];
    while (alone.length < ROUNDS_ALONE) alone.push(await round());
    const before = memoryOf(service.pid);

    const paths = streamPaths(UNREAD, EVENTS, IDS_EACH);
    sockets = paths.map((path) => askWithoutReading(port, path, key));
    const unsent = new UnsentBytes(sockets);
    const watched = watch(service, unsent);
    const beside: CrowdReport[] = [];
    while (!unsent.isOver) beside.push(await round());
    const most = await watched;
    const what = `${UNREAD} clients that never read, ${PER_SECOND.toLocaleString('en')} changes/s`;
    return [
      atMost(60, `${what}: resident memory more, at most`, most - before, 'MiB'),
      exactly(UNREAD, 'of them cut', unsent.cut),
      atMost(17, 'after their sockets took no more, median', median(unsent.waitedMs) / 1_000, 's'),
      exactly(0, 'streams of others that ended', beside.flatMap(({ endedAt }) => endedAt).length),
      atMost(1.5, 'p99 from write to socket of others, × before', p99(beside) / p99(alone)),
      note(
        'that is, before and meanwhile',
        `${Math.round(p99(alone))}, ${Math.round(p99(beside))} ms`,
      ),
    ];
  } finally {
    for (const socket of sockets) socket.destroy();
    await Promise.all([crowd.end(), end(writer)]);
    await stage.stopInstances();
  }
}

function p99(rounds: readonly CrowdReport[]): number {
  return median(rounds.map(({ sinceBegun }) => sinceBegun.p99));
}

/** Until all are cut. @returns the most memory that the service had in use */
async function watch({ pid }: ServerProcess, unsent: UnsentBytes): Promise<number> {
  const giveUpAt = performance.now() + GIVE_UP_AFTER_MS;
  let most = 0;
  while (!unsent.isOver) {
    most = Math.max(most, memoryOf(pid));
    await unsent.check(performance.now() > giveUpAt);
    await delay(CHECK_EVERY_MS);
  }
  return most;
}

function askWithoutReading(port: number, path: string, key: string): Socket {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.pause();
  socket.on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\n\r\n`);
  return socket;
}
