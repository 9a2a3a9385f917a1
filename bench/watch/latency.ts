import { median } from '../statistics.js';
import type { CrowdReport, Quantiles } from './crowd-orders.js';
import { Crowd } from './crowd.js';
import { atMost, note, type Finding } from './promise.js';
import { cpuSeconds } from '../machine.js';
import { marketsOf, streamPaths, type Setting } from './setting.js';

const STREAMS = 1_000;
const EVENTS = 200;
const PER_SECOND = 500;
const WARM_UP_SECONDS = 5;
const ROUNDS = 7;
const SECONDS = 3;

const FAN_OUT = { streams: 500, perSecond: 40, seconds: 10 };

/** From commit to the client's socket; and what it costs to tell everybody of one event. */
export async function measureLatency({ stage }: Setting): Promise<Finding[]> {
  const [service] = await stage.start(1, { STREAMS_MAX: String(STREAMS) });
  const { key } = await stage.issueKey();
  const crowd = new Crowd();
  try {
    if (!service) return [];
    const { port, pid } = service;
    const { uri } = stage;
    await crowd.open({ key, port, paths: streamPaths(STREAMS, EVENTS) });
    const write = { uri, markets: marketsOf(EVENTS), perSecond: PER_SECOND };
    await crowd.write({ ...write, seconds: WARM_UP_SECONDS });
    await crowd.report();
    const rounds: CrowdReport[] = [];
    while (rounds.length < ROUNDS) {
      await crowd.write({ ...write, seconds: SECONDS });
      rounds.push(await crowd.report());
    }
    const sinceAcknowledged = medians(rounds.map((round) => round.sinceAcknowledged));
    const sinceBegun = medians(rounds.map((round) => round.sinceBegun));
    await crowd.empty();

    await crowd.open({ key, port, paths: streamPaths(FAN_OUT.streams, 1) });
    await crowd.report();
    const before = cpuSeconds(pid);
    await crowd.write({ uri, markets: marketsOf(1), ...FAN_OUT });
    const cpu = cpuSeconds(pid) - before;
    const { sinceBegun: told } = await crowd.report();
    const what = `commit → client’s socket, ${PER_SECOND} changes/s, ${STREAMS.toLocaleString('en')} streams`;
    return [
      atMost(15, `${what}: p50`, sinceAcknowledged.p50, 'ms'),
      atMost(100, `${what}: p99`, sinceAcknowledged.p99, 'ms'),
      note(
        'the same from the beginning of the write: p50, p99',
        `${sinceBegun.p50.toFixed(1)}, ${sinceBegun.p99.toFixed(1)} ms`,
      ),
      note(
        `CPU of the service for each change told to a stream, ${FAN_OUT.streams} streams of one event, ${FAN_OUT.perSecond} changes/s`,
        `${((cpu / told.count) * 1e6).toFixed(1)} µs (${told.count.toLocaleString('en')} told)`,
      ),
    ];
  } finally {
    await crowd.end();
    await stage.stopInstances();
  }
}

function medians(rounds: readonly Quantiles[]): Pick<Quantiles, 'p50' | 'p99'> {
  return { p50: median(rounds.map(({ p50 }) => p50)), p99: median(rounds.map(({ p99 }) => p99)) };
}
