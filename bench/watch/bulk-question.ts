import { eventIdOf } from '../bench-markets.js';
import { cpuSeconds } from '../machine.js';
import { Caller } from '../scale/caller.js';
import { median } from '../statistics.js';
import { atMost, note, type Finding } from './promise.js';
import type { Setting } from './setting.js';

const IDS = Array.from({ length: 50 }, (_, event) => eventIdOf(event));
const ROUNDS = 7;
/** How often each way is asked in a round. */
const TIMES = 40;
const WARM_UP_TIMES = 60;

const ALL_AT_ONCE = [`/v1/markets/changes?${IDS.map((id) => `eventId=${id}`).join('&')}`];
const ONE_BY_ONE = IDS.map((id) => `/v1/markets/market/provider/${id}?take=100`);

/** What fifty events cost in one question, against fifty: CPU of the service. */
export async function measureBulkQuestion({ stage }: Setting): Promise<Finding[]> {
  const [service] = await stage.start(1);
  if (!service) return [];
  const { key } = await stage.issueKey();
  const caller = new Caller(service.port);
  const cpuOf = async (targets: readonly string[], times = TIMES) => {
    const before = cpuSeconds(service.pid);
    for (let time = 0; time < times; time += 1) {
      for (const target of targets) {
        const { status } = await caller.ask(target, key);
        if (status !== 200) throw new Error(`${target} got ${status}`);
      }
    }
    return (cpuSeconds(service.pid) - before) / times;
  };
  try {
    for (const targets of [ALL_AT_ONCE, ONE_BY_ONE]) await cpuOf(targets, WARM_UP_TIMES);
    const rounds: { readonly together: number; readonly single: number }[] = [];
    while (rounds.length < ROUNDS) {
      const together = await cpuOf(ALL_AT_ONCE);
      rounds.push({ together, single: await cpuOf(ONE_BY_ONE) });
    }
    const ms = (of: 'together' | 'single') =>
      (median(rounds.map((round) => round[of])) * 1e3).toFixed(2);
    const share = median(rounds.map(({ together, single }) => together / single));
    return [
      atMost(0.25, '50 ids in one `/changes`, × the CPU of 50 look-ups', share),
      note(
        'CPU of the service for the one, for the fifty',
        `${ms('together')}, ${ms('single')} ms`,
      ),
    ];
  } finally {
    caller.close();
    await stage.stopInstances();
  }
}
