/** All callers, and who judges what they were told: a process of their own. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { until } from '../../../test/until.js';
import { eventIdOf } from '../../bench-markets.js';
import { sum } from '../../statistics.js';
import { Poller, Streamer, type Service } from './callers.js';
import { pairOf, randomEventId, randomPair } from './data.js';
import { Judge, type Question, type Verdict } from './judge.js';

export interface CallersResult extends Verdict {
  readonly cuts: number;
}

const STREAMERS = 40;
const POLLERS = 8;
const SETTLED_WITHIN_MS = 60_000;

const FILTERS: readonly Question['filter'][] = [{}, {}, { marketStatus: 'OPEN' }];

function randomQuestion(): Question {
  const event = randomPair();
  const eventIds = [eventIdOf(event), eventIdOf(event + 1), randomEventId()];
  return {
    eventIds: [...new Set(eventIds)],
    filter: FILTERS[randomInt(FILTERS.length)] ?? {},
    pair: pairOf(event).map(String),
  };
}

process.on('disconnect', () => process.exit(0));
const [{ uri, ...service }] = (await once(process, 'message')) as [Service & { uri: string }];
const judge = new Judge(uri);
const callers = [
  ...Array.from({ length: STREAMERS }, () => new Streamer(service, randomQuestion(), judge)),
  ...Array.from({ length: POLLERS }, () => new Poller(service, randomQuestion(), judge)),
];
await once(process, 'message');
for (const caller of callers) caller.settle();
const isSettled = ({ comparedAtEnd }: Streamer | Poller) => comparedAtEnd > 1;
await until(() => callers.every(isSettled), SETTLED_WITHIN_MS).catch(() => undefined);
judge.verdict.unjudged += callers.filter((caller) => !isSettled(caller)).length;
for (const caller of callers) caller.close();
await judge.close();
const cuts = sum(callers.map((caller) => caller.cuts));
process.send?.({ ...judge.verdict, cuts } satisfies CallersResult);
