/** `npm run bench:watch`: each promise of the watch, the figure reached, and whether it holds. */
import { MARKETS_PER_EVENT } from '../bench-markets.js';
import { machine } from '../machine.js';
import { readArguments } from '../read-arguments.js';
import { writeBetween } from '../report.js';
import { Stage } from '../scale/stage.js';
import { measureBulkQuestion } from './bulk-question.js';
import { measureDrain } from './drain.js';
import { measureLatency } from './latency.js';
import { measureManyStreams } from './many-streams.js';
import { measureRestart } from './restart.js';
import { measureRevokedKey } from './revoked-key.js';
import { measureSilence } from './silence.js';
import { measureTruth } from './truth/truth.js';
import { measureUnread } from './unread.js';
import { findingsTable, type Finding } from './promise.js';
import { SEEDED_EVENTS, type Setting } from './setting.js';

const MEASUREMENTS: Readonly<Record<string, (setting: Setting) => Promise<Finding[]>>> = {
  latency: measureLatency,
  many: measureManyStreams,
  revoked: measureRevokedKey,
  bulk: measureBulkQuestion,
  restart: measureRestart,
  drain: measureDrain,
  unread: measureUnread,
  silence: measureSilence,
  truth: measureTruth,
};

const USAGE = `Usage: npm run bench:watch -- [NAME…] [--changes 100000] [--fault-every 5] [--docs]

  NAME             only these measurements: ${Object.keys(MEASUREMENTS).join(', ')}
  --changes N      so many changes for \`truth\`
  --fault-every S  seconds between its faults; more let more changes through in the same time
  --docs           write docs/performance.md
`;

const PAGE = 'docs/performance.md';

const say = (line: string) => void process.stderr.write(`${line}\n`);

type TruthOptions = Pick<Setting, 'changes' | 'faultEveryS'>;

async function bench(
  names: readonly string[],
  options: TruthOptions,
  docs: boolean,
): Promise<boolean> {
  const stage = await Stage.open(SEEDED_EVENTS * MARKETS_PER_EVENT, say, 1);
  try {
    const { version } = await stage.db.admin().command({ buildInfo: 1 });
    const findings: Finding[] = [];
    for (const name of names) {
      say(`Measuring: ${name}`);
      const found = await MEASUREMENTS[name]?.({ stage, ...options, say });
      findings.push(...(found ?? []));
      say(findingsTable(found ?? []));
    }
    const results = `${machine(version as string)}\n\n${findingsTable(findings)}`;
    process.stdout.write(`${results}\n`);
    if (docs) await writeBetween('bench:watch', PAGE, results);
    return findings.every(({ holds }) => holds !== false);
  } finally {
    await stage.close();
  }
}

// What was started ends with this process, if it ends by itself.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const config = {
  allowPositionals: true,
  options: {
    changes: { type: 'string', default: '100000' },
    'fault-every': { type: 'string', default: '5' },
    docs: { type: 'boolean', default: false },
  },
} as const;
const { values, positionals } = readArguments(USAGE, config, (found) => {
  const changes = Number(found.values.changes);
  const isPossible = Number.isSafeInteger(changes) && changes >= 1_000;
  const isKnown = found.positionals.every((name) => Object.hasOwn(MEASUREMENTS, name));
  return isPossible && isKnown && Number(found.values['fault-every']) > 0;
});
const names = positionals.length > 0 ? positionals : Object.keys(MEASUREMENTS);
const truth = { changes: Number(values.changes), faultEveryS: Number(values['fault-every']) };
process.exitCode = (await bench(names, truth, values.docs)) ? 0 : 1;
