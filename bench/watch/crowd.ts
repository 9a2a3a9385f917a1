import { setTimeout as delay } from 'node:timers/promises';
import { end, startScript } from '../scale/children.js';
import type { CrowdOrder, CrowdReport, OpenOrder, WriteOrder } from './crowd-orders.js';

interface Reply {
  readonly id: number;
  readonly result?: CrowdReport;
  readonly failure?: string;
}

/** Many streams, held by a process of their own. */
export class Crowd {
  private readonly child = startScript('watch/crowd-process.js');
  private readonly waiting = new Map<number, (reply: Reply) => void>();
  private orders = 0;

  constructor() {
    this.child.on('message', (reply: Reply) => this.waiting.get(reply.id)?.(reply));
  }

  /** Resolves when each stream was told `current`. */
  async open(open: OpenOrder): Promise<void> {
    await this.order({ do: 'open', open });
  }

  /** Writes marked changes from the same process: one clock for writes and arrivals. */
  async write(write: WriteOrder): Promise<void> {
    await this.order({ do: 'write', write });
  }

  /** What has happened since the last report. */
  async report(): Promise<CrowdReport> {
    const report = await this.order({ do: 'report' });
    if (!report) throw new Error('No report');
    return report;
  }

  /** Adds up reports until it is so. */
  async until(isSo: (report: CrowdReport) => boolean, withinMs: number): Promise<CrowdReport> {
    const giveUpAt = performance.now() + withinMs;
    let all = await this.report();
    while (!isSo(all) && performance.now() < giveUpAt) {
      await delay(100);
      all = joined(all, await this.report());
    }
    return all;
  }

  /** Closes all streams. */
  async empty(): Promise<void> {
    await this.order({ do: 'close' });
  }

  async end(): Promise<void> {
    await end(this.child);
  }

  private async order(order: CrowdOrder): Promise<CrowdReport | undefined> {
    const id = ++this.orders;
    const reply = await new Promise<Reply>((resolve) => {
      this.waiting.set(id, resolve);
      this.child.send({ id, order });
    });
    this.waiting.delete(id);
    if (reply.failure !== undefined) throw new Error(reply.failure);
    return reply.result;
  }
}

/** Two reports in a row as one; figures of latency are of the later one. */
function joined(one: CrowdReport, other: CrowdReport): CrowdReport {
  return {
    ...other,
    events: sumOf(one.events, other.events),
    ends: sumOf(one.ends, other.ends),
    refused: sumOf(one.refused, other.refused),
    endedAt: [...one.endedAt, ...other.endedAt],
    returnedAt: [...one.returnedAt, ...other.returnedAt],
    resumedGroups: one.resumedGroups + other.resumedGroups,
    resetGroups: one.resetGroups + other.resetGroups,
    silenceMs: Math.max(one.silenceMs, other.silenceMs),
  };
}

function sumOf(one: Readonly<Record<string, number>>, other: Readonly<Record<string, number>>) {
  const sums: Record<string, number> = { ...one };
  for (const [name, count] of Object.entries(other)) sums[name] = (sums[name] ?? 0) + count;
  return sums;
}
