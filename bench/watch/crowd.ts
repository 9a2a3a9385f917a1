import { setTimeout as delay } from 'node:timers/promises';
import { order } from '../orders.js';
import { end, startScript } from '../scale/children.js';
import type { CrowdOrder, CrowdReport, OpenOrder, WriteOrder } from './crowd-orders.js';

/** Many streams, held by a process of their own. */
export class Crowd {
  private readonly child = startScript('watch/crowd-process.js');

  /** Resolves when each stream was told `current`. */
  async open(open: OpenOrder): Promise<void> {
    await order(this.child, { do: 'open', open } satisfies CrowdOrder);
  }

  /** Writes marked changes from the same process: one clock for writes and arrivals. */
  async write(write: WriteOrder): Promise<void> {
    await order(this.child, { do: 'write', write } satisfies CrowdOrder);
  }

  /** What has happened since the last report. */
  report(): Promise<CrowdReport> {
    return order(this.child, { do: 'report' } satisfies CrowdOrder);
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
    await order(this.child, { do: 'close' } satisfies CrowdOrder);
  }

  async end(): Promise<void> {
    await end(this.child);
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
