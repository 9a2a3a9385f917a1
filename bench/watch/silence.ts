import { setTimeout as delay } from 'node:timers/promises';
import { marketsOf, streamPaths, type Setting } from './setting.js';
import { Crowd } from './crowd.js';
import { atMost, atLeast, type Finding } from './promise.js';

const STREAMS = 200;
const EVENTS = 100;
const QUIET_MS = 15_000;
const STOPPED_MS = 12_000;
const BUSY = { perSecond: 300, seconds: 8 };

/** The longest that a stream says nothing: in quiet, under changes to others, while MongoDB stands still. */
export async function measureSilence({ stage }: Setting): Promise<Finding[]> {
  const [service] = await stage.start(1);
  if (!service) return [];
  const { key } = await stage.issueKey();
  const crowd = new Crowd();
  const silence = async () => (await crowd.report()).silenceMs / 1_000;
  try {
    const { port } = service;
    await crowd.open({ key, port, paths: streamPaths(STREAMS, EVENTS) });
    await crowd.report();
    await delay(QUIET_MS);
    const quiet = await silence();
    await crowd.write({ uri: stage.uri, markets: marketsOf(EVENTS / 2), ...BUSY });
    const busy = await silence();
    await stage.mongod.kill('SIGSTOP');
    await delay(STOPPED_MS);
    const { events, silenceMs } = await crowd.report();
    await stage.mongod.kill('SIGCONT');
    return [
      atMost(5, 'silence without proof of currency: quiet', quiet, 's'),
      atMost(5, `half of the streams with ${BUSY.perSecond} changes/s`, busy, 's'),
      atMost(5, 'MongoDB stopped', silenceMs / 1_000, 's'),
      atLeast(
        2,
        `then \`late\`, with its age, told to each so often in ${STOPPED_MS / 1_000} s`,
        (events['late'] ?? 0) / STREAMS,
      ),
    ];
  } finally {
    await stage.mongod.kill('SIGCONT');
    await crowd.end();
    await stage.stopInstances();
  }
}
