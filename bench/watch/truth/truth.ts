import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../../src/embedded-mongod/free-port.js';
import { end, startScript } from '../../scale/children.js';
import { Stage } from '../../scale/stage.js';
import { exactly, note, type Finding } from '../promise.js';
import type { Setting } from '../setting.js';
import type { CallersResult } from './callers-process.js';
import { MARKETS } from './data.js';
import { faultsOf, Replica } from './faults.js';

const text = (value: number) => value.toLocaleString('en');

interface Progress {
  readonly written: number;
  readonly isDone?: true;
}

/** Whether callers of two replicas have what MongoDB has, whatever befalls them. */
export async function measureTruth({ changes, faultEveryS, say }: Setting): Promise<Finding[]> {
  const stage = await Stage.open(MARKETS, say, 3);
  const { uri } = stage;
  const replicas = [new Replica(uri, await freePort()), new Replica(uri, await freePort())];
  const writer = startScript('watch/truth/writer-process.js', [uri, String(changes)]);
  const callers = startScript('watch/truth/callers-process.js');
  try {
    await once(writer, 'message');
    await Promise.all(replicas.map((replica) => replica.start()));
    const { key } = await stage.issueKey();
    callers.send({ uri, ports: replicas.map(({ port }) => port), key });
    let progress: Progress = { written: 0 };
    writer.on('message', (told: Progress) => {
      progress = told;
      say(`${told.written} changes`);
    });
    writer.send('begin');
    const faults = faultsOf(stage, replicas);
    let faultCount = 0;
    for (; !progress.isDone; await delay(1_000 * faultEveryS)) {
      await faults[faultCount % faults.length]?.().catch((error: unknown) => say(String(error)));
      faultCount += 1;
    }
    const result = once(callers, 'message') as Promise<[CallersResult]>;
    callers.send('finish');
    return findingsOf(progress.written, faultCount, (await result)[0], say);
  } finally {
    await Promise.all([end(writer), end(callers)]);
    await Promise.all(replicas.map((replica) => replica.stop()));
    await stage.close();
  }
}

function findingsOf(
  written: number,
  faults: number,
  result: CallersResult,
  say: (line: string) => void,
): Finding[] {
  for (const example of result.examples) say(example);
  return [
    note(
      `${text(written)} changes under ${faults} faults (replicas killed and restarted, primary killed, stopped, stepped down)`,
      `${text(result.cuts)} cuts, ${text(result.compared)} states compared, ${text(result.ofNoTime)} of no time`,
    ),
    exactly(0, 'lost', result.lost),
    exactly(0, 'doubled back', result.doubledBack),
    exactly(0, 'half told', result.halfTold),
    exactly(
      0,
      'states that could not be compared, callers that never came to rest',
      result.unjudged,
    ),
  ];
}
