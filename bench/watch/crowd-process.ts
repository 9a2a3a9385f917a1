/** Many streams in a process of their own, opened, counted and closed as its parent says. */
import { setTimeout as delay } from 'node:timers/promises';
import type { CrowdOrder, CrowdReport, OpenOrder } from './crowd-orders.js';
import { CrowdStream, newTally } from './crowd-stream.js';
import { obey } from '../orders.js';
import { MarkedWriter } from './marked-writer.js';

const OPENED_AT_ONCE = 25;

const streams = new Set<CrowdStream>();
const writer = new MarkedWriter();
let tally = newTally();

const isThere = () => [...streams].every((stream) => stream.isWhole);

async function open({ key, port, returnTo, paths }: OpenOrder): Promise<void> {
  for (let start = 0; start < paths.length; start += OPENED_AT_ONCE) {
    for (const path of paths.slice(start, start + OPENED_AT_ONCE)) {
      const told = new Set<string>();
      const context = { tally: () => tally, arrived: (data: string) => writer.arrived(data, told) };
      streams.add(new CrowdStream({ port, key, path, returnTo }, context));
    }
    while (!isThere()) await delay(2);
  }
}

function report(): CrowdReport {
  const all = [...streams];
  const now = performance.now();
  const silenceMs = Math.max(tally.silenceMs, ...all.map((stream) => stream.silenceMs(now)));
  const told = {
    ...tally,
    silenceMs,
    open: all.filter(({ isOpen }) => isOpen).length,
    whole: all.filter(({ isWhole }) => isWhole).length,
    ...writer.report(),
  };
  tally = newTally();
  return told;
}

obey(async (order: CrowdOrder): Promise<CrowdReport | undefined> => {
  if (order.do === 'open') await open(order.open);
  if (order.do === 'write') await writer.write(order.write);
  if (order.do === 'close') {
    for (const stream of streams) stream.close();
    streams.clear();
  }
  return order.do === 'report' ? report() : undefined;
});
