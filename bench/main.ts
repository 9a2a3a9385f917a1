/** `npm run bench`: the service beside what it is measured against, on one machine in one run. */
import { parseArgs } from 'node:util';
import { CONTENDERS, startReadyBytes } from './contenders.js';
import { LoadClient } from './load.js';
import { measureLoadCurve } from './load-curve.js';
import { canPin, machine, moveToCore, OTHER_CORE } from './machine.js';
import { measureMemory } from './memory.js';
import { BenchMongo, type SeededDatabase } from './mongo.js';
import { drawLoadCurve, drawSizeCurve } from './pictures.js';
import { endAll } from './processes.js';
import { writeReport } from './report.js';
import { atMost, goalsOf, goalTable, markdownTable, tableOf, type Goal } from './results.js';
import { FULL_PACE, QUICK_PACE, runRounds, type Pace } from './rounds.js';
import { measureSizeCurve, type SizePoint } from './size-curve.js';
import { formatNumber } from './statistics.js';

const USAGE = `Usage: npm run bench -- [--markets 1000000] [--quick] [--docs]

  --markets N  so many markets in the database
  --quick      few and short rounds: a first idea
  --docs       measure the curves, too, and write docs/performance.md with its pictures

MONGODB_URI is used if set (databases of its own, dropped at the end), else a mongod is started.`;
