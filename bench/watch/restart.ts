import { setTimeout as delay } from 'node:timers/promises';
import { Crowd } from './crowd.js';
import { atMost, note, type Finding } from './promise.js';
import { freePort } from '../../src/embedded-mongod/free-port.js';
import { marketsOf, streamPaths, type Setting } from './setting.js';

const STREAMS = 300;
const IDS_EACH = 5;
const EVENTS = 200;
const PER_SECOND = 300;
const BEFORE_MS = 4_000;
const AWAY_MS = 2_000;
const GIVE_UP_AFTER_MS = 40_000;

/** Resets that a restart costs those who come back to it. */
export async function measureRestart({ stage }: Setting): Promise<Finding[]> {
  const env = { PORT: String(await freePort()) };
  const [first] = await stage.start(1, env);
  if (!first) return [];
  const { key } = await stage.issueKey();
  const [crowd, writer] = [new Crowd(), new Crowd()];
  try {
    const { port } = first;
    const paths = streamPaths(STREAMS, EVENTS, IDS_EACH);
    await crowd.open({ key, port, returnTo: port, paths });
    await crowd.report();
    const { uri } = stage;
    const seconds = (BEFORE_MS + AWAY_MS) / 1_000 + 8;
    const written = writer.write({
      uri,
      markets: marketsOf(EVENTS),
      perSecond: PER_SECOND,
      seconds,
    });
    await delay(BEFORE_MS);
    await first.stop('SIGKILL');
    await delay(AWAY_MS);
    await stage.start(1, env);
    const all = await crowd.until(({ whole }) => whole === STREAMS, GIVE_UP_AFTER_MS);
    await written;
    return [
      atMost(
        5,
        `resets among resumed groups after a replica’s restart, ${PER_SECOND} updates/s`,
        (all.resetGroups / all.resumedGroups) * 100,
        '%',
      ),
      note('resumed groups', all.resumedGroups.toLocaleString('en')),
    ];
  } finally {
    await Promise.all([crowd.end(), writer.end()]);
    await stage.stopInstances();
  }
}
