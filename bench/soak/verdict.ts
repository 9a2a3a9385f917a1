import { markdownTable } from '../markdown-table.js';
import { formatNumber, slope } from '../statistics.js';
import type { MixedResult } from './mixed-load.js';
import type { Watched } from './watch.js';

/** What became of one interval of the run. */
export interface Sample extends Watched {
  /** The end of the interval, counted from the beginning of the load. */
  readonly minute: number;
  readonly load: MixedResult;
}

interface Judgement {
  readonly what: string;
  readonly found: number;
  readonly atMost: number;
}

/**
 * What may be found to grow over the run, by the line through its second half. A leak grows with what is done,
 * noise does not: half an hour at 2,000 a second is 3.6 million requests, and an object kept for each takes 16 bytes at
 * least, 58 MB together. Without a leak the heap takes some 10 MB now and then and gives them back; one such step in
 * the middle of the second half looks like three in the run. A few minutes are too short for memory to settle.
 */
const MEMORY_MB = 32;

/** Of what was due, in %: some requests are under way at the end of each interval. With more it was no half load. */
const UNANSWERED = 1;

/**
 * One connection that is opened or closed in the middle of the second half looks like three in the run, and two may
 * be. One that is lost each minute makes thirty.
 */
const CONNECTIONS = 6;

export function judge(samples: readonly Sample[]): Judgement[] {
  const growth = (of: (sample: Sample) => number) => growthOf(samples, of);
  const sum = (of: (sample: Sample) => number) => samples.reduce((all, each) => all + of(each), 0);
  return [
    {
      what: 'resident memory grows, MB in the run',
      found: growth(({ holdings }) => holdings.memoryMb),
      atMost: MEMORY_MB,
    },
    {
      what: 'descriptors grow, in the run',
      found: growth(({ holdings }) => holdings.descriptors),
      atMost: CONNECTIONS,
    },
    {
      what: 'connections to MongoDB grow, in the run',
      found: growth(({ holdings }) => holdings.poolConnections),
      atMost: CONNECTIONS,
    },
    {
      what: 'requests with a good key that failed',
      found: sum(({ load }) => count(load.failures)),
      atMost: 0,
    },
    {
      what: 'requests due that had no answer, %',
      found: (1 - sum(({ load }) => load.requests) / sum(({ load }) => load.due)) * 100,
      atMost: UNANSWERED,
    },
    {
      what: 'requests with an unknown key not answered 401',
      found: sum(({ unknownKeys }) => count(notRefused(unknownKeys))),
      atMost: 0,
    },
  ];
}

/** Whether it is as asked. What could not be found out is not. */
export function isMet({ found, atMost }: Judgement): boolean {
  return found <= atMost;
}

/** Least squares over the second half: in the first, memory fills and code is compiled. */
function growthOf(samples: readonly Sample[], of: (sample: Sample) => number): number {
  const settled = samples.slice(Math.floor(samples.length / 2));
  const minutes = samples.at(-1)?.minute ?? NaN;
  return minutes * slope(settled.map((sample) => [sample.minute, of(sample)] as const));
}

export function verdictTable(judgements: readonly Judgement[]): string {
  const rows = judgements.map((judgement) => [
    judgement.what,
    signed(judgement.found),
    `≤ ${judgement.atMost}`,
    isMet(judgement) ? 'met' : '**missed**',
  ]);
  return markdownTable(['no slope, no failure', 'found', 'asked', ''], rows);
}

function signed(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(1);
}

export function sampleTable(samples: readonly Sample[]): string {
  let [requests, badKeys] = [0, 0];
  const rows = samples.map((sample) => {
    const { minute, holdings, load, unknownKeys } = sample;
    requests += load.requests;
    badKeys += count(unknownKeys);
    return [
      formatNumber(minute),
      holdings.memoryMb.toFixed(1),
      holdings.heapMb.toFixed(1),
      holdings.cacheMb.toFixed(1),
      String(holdings.descriptors),
      String(holdings.poolConnections),
      formatNumber(holdings.lagMs),
      requests.toLocaleString('en'),
      badKeys.toLocaleString('en'),
      formatNumber(load.hotP50),
      formatNumber(load.hotP99),
      formatNumber(load.coldP99),
      listed(load.failures),
      listed(notRefused(unknownKeys)),
    ];
  });
  const head = [
    'minute',
    'resident MB',
    'heap MB, lowest',
    'cache MB',
    'descriptors',
    'to MongoDB',
    'loop p99 ms, worst',
    'requests so far',
    'bad keys so far',
    'hot p50 ms',
    'p99',
    'cold p99',
    'failed',
    'bad keys not refused',
  ];
  return markdownTable(head, rows);
}

type Statuses = Readonly<Record<string, number>>;

function notRefused({ 401: _refused, ...others }: Statuses): Statuses {
  return others;
}

function count(statuses: Statuses): number {
  return Object.values(statuses).reduce((sum, each) => sum + each, 0);
}

/** `503: 2, 504: 1` */
function listed(statuses: Statuses): string {
  const each = Object.entries(statuses).map(([status, times]) => `${status}: ${times}`);
  return each.join(', ') || '0';
}
