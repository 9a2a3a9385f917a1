import { afterEach, describe, expect, it } from '@jest/globals';
import { generateKey } from '../../src/api-keys/key-form.js';
import { TestMongod } from '../mongo.js';
import { onMember } from '../mongo-admin.js';
import { ServerProcess } from '../server-process.js';
import { startProcess } from '../services.js';
import { measurementsOf } from './measurements.js';
import { ask } from './open-loop.js';
import { lookUp } from './paths.js';
import { until } from '../until.js';

const PASSWORD = 'S3cretPass';
/** Long enough for a second line, if there were one. */
const TRIES_MS = 3_000;

const wrong = measurementsOf('bad URI or password');
const rejected = measurementsOf('unhandled rejection');

let mongod: TestMongod | undefined;
let service: ServerProcess | undefined;

afterEach(async () => {
  await service?.stop();
  await mongod?.stop();
  mongod = service = undefined;
});

describe('bad URI or password', () => {
  it('a bad URI: refuses to start', async () => {
    service = ServerProcess.spawn({ MONGODB_URI: `mongodb://service:${PASSWORD}@` });
    wrong.exactly(1, { seen: 'bad URI: exit code', measured: (await service.exited) ?? -1 });
    wrong.exactly('Bad settings: MONGODB_URI must be a MongoDB connection string', {
      seen: 'bad URI: what is said',
      measured: said(service)
        .replace(/\s+/g, ' ')
        .replace(/ \(mongodb:.*/, ''),
    });
  });

  it('a host that is not there: 503, and why in one line', async () => {
    service = await startProcess(`mongodb://service:${PASSWORD}@nowhere.invalid/`, {
      key: generateKey(),
    });
    await measureRefusal(service, 'unknown host', /ENOTFOUND|EAI_AGAIN/);
  });

  it('a wrong password: 503, and why in one line', async () => {
    mongod = await TestMongod.start({ members: 0, args: ['--auth'] });
    await onMember(mongod, 0, (client) =>
      client
        .db('admin')
        .command({ createUser: 'service', pwd: 'another', roles: ['readAnyDatabase'] }),
    );
    const uri = mongod.uri.replace('//', `//service:${PASSWORD}@`);
    service = await startProcess(`${uri}?authSource=admin`, { key: generateKey() });
    await measureRefusal(service, 'wrong password', /Authentication failed/);
  });
});

describe('unhandled rejection', () => {
  it('ends the service with one line, redacted', async () => {
    const key = generateKey();
    service = await startProcess('mongodb://127.0.0.1:1/', {
      key,
      nodeArgs: ['--import', new URL('reject.js', import.meta.url).href],
      env: { REASON: `${key} did not work at mongodb://service:${PASSWORD}@host/` },
    });
    service.kill('SIGUSR2');
    rejected.exactly(1, { seen: 'exit code', measured: (await service.exited) ?? -1 });
    const fatal = service.stdout.filter((line) => line.includes('"level":"fatal"'));
    rejected.exactly(1, { seen: 'fatal lines', measured: fatal.length });
    rejected.exactly(0, {
      seen: 'lines that hold key or password',
      measured: [...service.stdout, ...service.stderr].filter(
        (line) => line.includes(PASSWORD) || line.includes(key.slice(17, 49)),
      ).length,
    });
    expect(fatal[0]).toContain('mos_[redacted] did not work at mongodb://[redacted]@host/');
  });
});

async function measureRefusal(
  degraded: ServerProcess,
  name: string,
  reason: RegExp,
): Promise<void> {
  const why = () => degraded.stdout.filter((line) => reason.test(line));
  await until(() => why().length > 0);
  const [live, ready, answer] = await Promise.all([
    ask(degraded, '/health/live'),
    ask(degraded, '/health/ready'),
    ask(degraded, lookUp()),
  ]);
  wrong.exactly('200, 503, 503 database_unavailable', {
    seen: `${name}: live, ready, look-up`,
    measured: `${live.status}, ${ready.status}, ${answer.status} ${answer.code}`,
  });
  const saidAt = performance.now();
  await until(() => performance.now() - saidAt > TRIES_MS);
  wrong.exactly(1, { seen: `${name}: lines that say why`, measured: why().length });
  expect(said(degraded)).not.toContain(PASSWORD);
}

function said({ stdout, stderr }: ServerProcess): string {
  return [...stdout, ...stderr].join('\n');
}
