import { quantile } from '../statistics.js';
import { Crowd } from './crowd.js';
import { atLeast, atMost, exactly, note, type Finding } from './promise.js';
import { marketsOf, streamPaths, streamsPossible, type Setting } from './setting.js';

const EVENTS = 200;
const PER_SECOND = 50;
const SECONDS = 20;
const GIVE_UP_AFTER_MS = 60_000;

/** A replica is told to end while thousands stream from it: all go over to the other one. */
export async function measureDrain({ stage }: Setting): Promise<Finding[]> {
  const streams = streamsPossible();
  const [leaving, staying] = await stage.start(2);
  if (!leaving || !staying) return [];
  const { key } = await stage.issueKey();
  const [crowd, writer] = [new Crowd(), new Crowd()];
  try {
    const paths = streamPaths(streams, EVENTS);
    await crowd.open({ key, port: leaving.port, returnTo: staying.port, paths });
    await crowd.report();
    const change = { markets: marketsOf(EVENTS), perSecond: PER_SECOND, seconds: SECONDS };
    const written = writer.write({ uri: stage.uri, ...change });
    const startedAt = performance.now();
    leaving.kill('SIGTERM');
    const exit = leaving.exited.then((code) => ({ code, ms: performance.now() - startedAt }));
    const all = await crowd.until(
      ({ returnedAt, whole }) => whole === streams && returnedAt.length > 0,
      GIVE_UP_AFTER_MS,
    );
    const { code, ms } = await exit;
    await written;
    const back = all.returnedAt.toSorted((one, other) => one - other);
    return [
      exactly(streams, 'SIGTERM with so many streams: told `draining`', all.ends['draining'] ?? 0),
      exactly(0, 'exit code', code ?? NaN),
      atMost(15, 'exit within', ms / 1_000, 's'),
      atLeast(
        2,
        'reconnects spread over, first to last hundredth',
        (quantile(back, 0.99) - quantile(back, 0.01)) / 1e3,
        's',
      ),
      exactly(streams, 'ids resumed at the other replica', all.resumedGroups),
      exactly(0, 'of them reset', all.resetGroups),
      note('refused on the way, by status', JSON.stringify(all.refused).replaceAll('"', '')),
    ];
  } finally {
    await Promise.all([crowd.end(), writer.end()]);
    await stage.stopInstances();
  }
}
