import { describe, expect, it } from '@jest/globals';
import { MongoClient } from 'mongodb';
import { TestMongod } from '../mongo.js';
import { onMember, setFailCommand, timesFailed } from '../mongo-admin.js';
import { runCli } from '../run-cli.js';

const INTERRUPTED_BY_ELECTION = 11602;
const CURSOR_NOT_FOUND = 43;

describe('db init', () => {
  it('says what a user may not make, and needs no privilege for what is there', async () => {
    const mongod = await TestMongod.start({ members: 0, args: ['--auth'] });
    const uri = new URL(mongod.uri);
    const name = uri.pathname.slice(1);
    const as = (user: string) => {
      const own = new URL(uri);
      own.username = user;
      own.password = 's3cret';
      own.searchParams.set('authSource', 'admin');
      return { MONGODB_URI: own.href };
    };
    try {
      const first = await MongoClient.connect(uri.href);
      const users = first.db('admin');
      await users.command({ createUser: 'owner', pwd: 's3cret', roles: ['root'] });
      await first.close();
      const owner = await MongoClient.connect(as('owner').MONGODB_URI);
      const roles = [{ role: 'read', db: name }];
      await owner.db('admin').command({ createUser: 'reader', pwd: 's3cret', roles });
      await owner.db('admin').command({ createUser: 'nobody', pwd: 's3cret', roles: [] });
      await owner.close();

      const refused = await runCli(['db', 'init'], { env: as('reader') });
      expect(refused.code).toBe(1);
      expect(refused.stdout).toMatch(/^FAILED {2}collection markets: not authorized/m);
      await runCli(['db', 'init'], { env: as('owner') });
      const found = await runCli(['db', 'init'], { env: as('reader') });
      expect(found).toMatchObject({ code: 0, stderr: '' });

      const unseen = await runCli(['db', 'status'], { env: as('nobody') });
      expect(unseen.stdout).toMatch(/^markets +unknown +unknown +unknown$/m);
      expect(unseen.stdout).toMatch(/^markets\.market_identity +unknown$/m);

      const stranger = await runCli(['db', 'init'], { env: as('stranger') });
      expect(stranger).toEqual({
        code: 1,
        stdout: '',
        stderr: 'error: MongoDB refuses us: Authentication failed.\n',
      });
    } finally {
      await mongod.stop();
    }
  });
});

it('a command that loses MongoDB on its way, or whose write is killed, says so, and that its work may be done', async () => {
  const mongod = await TestMongod.start();
  const env = { MONGODB_URI: mongod.uri };
  try {
    const id = JSON.parse(
      (await runCli(['keys', 'create', '--name', 'x', '--json'], { env })).stdout,
    ).id;
    for (const fault of [{ errorCode: 10107 }, { errorCode: 11601 }, { closeConnection: true }]) {
      await setFailCommand(mongod, 'alwaysOn', { failCommands: ['update'], ...fault });
      const { code, stderr } = await runCli(['keys', 'revoke', id], { env });
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /^error: MongoDB can't be used: .+\nThe command may have done its work: look, and run it again\.\n$/,
      );
    }
  } finally {
    await mongod.stop();
  }
});

describe('db status', () => {
  it('shows the members while there is no primary', async () => {
    const mongod = await TestMongod.start();
    try {
      const stepDown = { replSetStepDown: 60, force: true };
      await onMember(mongod, 0, (member) => member.db('admin').command(stepDown));
      const env = { MONGODB_URI: mongod.uri };
      const { code, stdout } = await runCli(['db', 'status', '--json'], { env });
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({
        topology: { members: [{ state: 'SECONDARY' }] },
        changeFeed: { on: false },
      });
    } finally {
      await mongod.stop();
    }
  });

  it('does not take an election for a reason why changes can not be told', async () => {
    const mongod = await TestMongod.start();
    try {
      for (const errorCode of [INTERRUPTED_BY_ELECTION, CURSOR_NOT_FOUND]) {
        await setFailCommand(mongod, { times: 1 }, { failCommands: ['aggregate'], errorCode });
        const env = { MONGODB_URI: mongod.uri };
        const { stdout } = await runCli(['db', 'status', '--json'], { env });
        expect(JSON.parse(stdout).changeFeed).toEqual({ on: true });
      }
      expect(await onMember(mongod, 0, timesFailed)).toBe(2);
      // Where it lasts, it is told.
      const failing = { failCommands: ['aggregate'], errorCode: INTERRUPTED_BY_ELECTION };
      await setFailCommand(mongod, 'alwaysOn', failing);
      const { stdout } = await runCli(['db', 'status', '--json'], {
        env: { MONGODB_URI: mongod.uri },
      });
      expect(JSON.parse(stdout).changeFeed).toMatchObject({ on: false });
    } finally {
      await mongod.stop();
    }
  });

  it('says why a standalone server tells no changes', async () => {
    const mongod = await TestMongod.start({ members: 0 });
    try {
      const env = { MONGODB_URI: mongod.uri };
      const init = await runCli(['db', 'init', '--json'], { env });
      expect(init.code).toBe(0);
      expect(JSON.parse(init.stdout).items).toContainEqual({
        what: 'pre- and post-images of markets',
        ok: true,
        reason: 'a standalone server has no change feed',
      });
      const status = JSON.parse((await runCli(['db', 'status', '--json'], { env })).stdout);
      expect(status).toMatchObject({
        topology: { type: 'standalone' },
        changeFeed: { on: false, reason: expect.stringContaining('replica set') },
        newestChange: null,
      });
    } finally {
      await mongod.stop();
    }
  });

  it('says why a MongoDB that still acts as version 5 tells no changes', async () => {
    const mongod = await TestMongod.start();
    try {
      const command = { setFeatureCompatibilityVersion: '5.0' };
      // Newer ones refuse to act as version 5: their change feed is on.
      const isOld = await onMember(mongod, 0, (member) =>
        member
          .db('admin')
          .command(command)
          .then(Boolean, () => false),
      );
      const env = { MONGODB_URI: mongod.uri };
      const status = JSON.parse((await runCli(['db', 'status', '--json'], { env })).stdout);
      const why = { on: false, reason: expect.stringContaining('whenAvailable') };
      expect(status.changeFeed).toEqual(isOld ? why : { on: true });
    } finally {
      await mongod.stop();
    }
  });
});
