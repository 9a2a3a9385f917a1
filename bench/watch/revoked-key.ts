import { Crowd } from './crowd.js';
import { atMost, exactly, type Finding } from './promise.js';
import { streamPaths, type Setting } from './setting.js';

const TIMES = 8;
const STREAMS = 20;
const GIVE_UP_AFTER_MS = 10_000;

/** How long the streams of a key outlive it, on two replicas. */
export async function measureRevokedKey({ stage }: Setting): Promise<Finding[]> {
  const replicas = await stage.start(2);
  const crowd = new Crowd();
  const worst: number[] = [];
  let ended = 0;
  try {
    for (let time = 0; time < TIMES; time += 1) {
      const issued = await stage.issueKey();
      for (const { port } of replicas) {
        await crowd.open({ key: issued.key, port, paths: streamPaths(STREAMS, STREAMS) });
      }
      await crowd.report();
      await stage.revoke(issued);
      const revokedAt = Date.now();
      const { ends, endedAt } = await crowd.until(({ open }) => open === 0, GIVE_UP_AFTER_MS);
      worst.push(Math.max(...endedAt) - revokedAt);
      ended += ends['key'] ?? 0;
      await crowd.empty();
    }
    return [
      atMost(
        2,
        `revoked key’s streams end, two replicas, worst of ${TIMES}`,
        Math.max(...worst) / 1_000,
        's',
      ),
      exactly(TIMES * replicas.length * STREAMS, 'of them told why', ended),
    ];
  } finally {
    await crowd.end();
    await stage.stopInstances();
  }
}
