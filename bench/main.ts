/** `npm run bench`: the service beside what it is measured against, on one machine in one run. */
import { checkAgreement } from './agreement.js';
import { measureCeiling } from './ceiling.js';
import { measureLoadCurve } from './load-curve.js';
import { canPin, machine, moveToCore, OTHER_CORE } from './machine.js';
import { measureMemory } from './memory.js';
import type { BenchMongo, SeededDatabase } from './mongo.js';
import { drawLoadCurve, drawSizeCurve } from './pictures.js';
import { writeReport } from './report.js';
import { goalsOf, goalTable, growthGoal, tableOf } from './results.js';
import { FULL_PACE, QUICK_PACE, runRounds } from './rounds.js';
import { measureSizeCurve, sizeTable } from './size-curve.js';
import { formatNumber } from './statistics.js';
import { readOptions, type BenchOptions } from './bench-options.js';
import { withBenchMongo } from './with-bench-mongo.js';

/** The sizes that are compared with the one asked for. */
const SMALLER_SIZES = [100_000, 1_000_000];

const say = (line: string) => void process.stderr.write(`${line}\n`);

async function bench(
  mongo: BenchMongo,
  { markets, rounds, quick, docs }: BenchOptions,
): Promise<void> {
  const smaller: SeededDatabase[] = [];
  for (const size of SMALLER_SIZES.filter((each) => docs && each < markets)) {
    smaller.push(await mongo.seed(size, say));
  }
  const database = await mongo.seed(markets, say);
  for (const pid of [process.pid, mongo.pid]) if (pid !== undefined) moveToCore(OTHER_CORE, pid);

  await checkAgreement(database);
  const ceiling = await measureCeiling(database);
  const usual = quick ? QUICK_PACE : FULL_PACE;
  const pace = { ...usual, rounds: rounds ?? usual.rounds };
  const samples = await runRounds(database, pace, say);
  const memoryMb = await measureMemory(database, pace);
  const sizes = docs ? await measureSizeCurve(mongo, [...smaller, database], pace, say) : [];
  const results = [
    [
      `${machine(mongo.version)}${canPin ? '' : ', no cores of their own'}`,
      `${formatNumber(markets)} markets`,
      `from a server that does nothing the load client gets ${formatNumber(ceiling)} answers/s`,
    ].join('; '),
    tableOf(samples),
    goalTable([...goalsOf(samples, memoryMb), ...growthGoal(sizes)]),
    ...(docs ? [sizeTable(sizes)] : []),
  ].join('\n\n');
  process.stdout.write(`${results}\n`);
  if (!docs) return;
  const load = await measureLoadCurve(database, pace, say);
  await writeReport(results, { 'load.svg': drawLoadCurve(load), 'size.svg': drawSizeCurve(sizes) });
}

const options = readOptions();
await withBenchMongo(say, (mongo) => bench(mongo, options));
