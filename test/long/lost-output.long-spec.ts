import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { MongoClient, type Db } from 'mongodb';
import { testDatabaseUri } from '../mongo.js';
import { runShell, startCli, startShell } from '../run-cli.js';
import { runHere } from '../run-here.js';
import { until } from '../until.js';

let client: MongoClient;
let db: Db;
let env: { MONGODB_URI: string };

beforeAll(async () => {
  client = await MongoClient.connect(testDatabaseUri());
});

beforeEach(() => {
  const uri = testDatabaseUri();
  db = client.db(new URL(uri).pathname.slice(1));
  env = { MONGODB_URI: uri };
});

afterEach(() => db.dropDatabase());

afterAll(() => client.close());

describe('the command line', () => {
  it('does not mind a reader that has seen enough', async () => {
    const child = startCli(['db', 'status'], { env });
    child.stdout.destroy();
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('goes on though nobody reads what it says beside its result', async () => {
    const child = startCli(['markets', 'import', '--json', '--dry-run', '-'], { env });
    child.stderr.destroy();
    child.stdin.end('{}\n{}\n');
    const [stdout, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    expect([code, JSON.parse(stdout)]).toEqual([1, expect.objectContaining({ rejected: 2 })]);
  });

  it.each([
    ['can not be written', 'markets db status >/dev/full', 'ENOSPC'],
    [
      'is cut',
      // A file that may grow by a few bytes.
      'file=$(mktemp); exec 3>$file; rm $file; head -c 1000 /dev/zero >&3; ulimit -f 1; markets db status >&3',
      'EFBIG',
    ],
  ])('fails where its result %s', async (_how, line, error) => {
    const { code, stderr } = await runShell(line, { env });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `error: stdout can't be written: ${error}\n`,
    });
  });
});

describe('a key that nobody sees', () => {
  it.each([
    [
      'full',
      'markets keys create --name x >/dev/full',
      /^error: stdout can't be written: ENOSPC\n$/,
    ],
    ['closed', 'markets keys create --name x >&-', /^error: stdout leads nowhere.*\n$/],
    [
      'a pipe without a reader',
      'markets keys create --name x | exec 0<&-',
      /^error: stdout can't be written: EPIPE\n$/,
    ],
  ])('is not made where stdout is %s', async (_what, line, message) => {
    const { code, stderr } = await runShell(line, { env });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(message) });
    expect(await db.collection('api_keys').find().toArray()).toEqual([]);
  });

  it('is taken back when its command is stopped before anybody has read it', async () => {
    const keys = db.collection('api_keys');
    // A full pipe, whose reader never reads.
    const child = startShell(
      '{ head -c 65536 /dev/zero; echo $BASHPID >&2; exec "${MARKETS[@]}" keys create --name x; } | sleep 10',
      { env },
    );
    const [pid] = await once(child.stderr, 'data');
    await until(async () => (await keys.countDocuments()) === 1);
    process.kill(Number(String(pid)), 'SIGTERM');
    await until(async () => (await keys.countDocuments()) === 0, 5_000);
    child.kill();
  });

  it('takes no other key along when it would have taken its place', async () => {
    const { id } = JSON.parse(
      (await runHere(['keys', 'create', '--name', 'x', '--json'], { env })).stdout,
    );
    const before = await db.collection('api_keys').find().toArray();
    const { code } = await runShell(`markets keys rotate ${id} >/dev/full`, { env });
    expect(code).toBe(1);
    expect(await db.collection('api_keys').find().toArray()).toEqual(before);
  });
});
