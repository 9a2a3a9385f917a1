import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Command } from 'commander';
import { generateKey, hashKey, keyIdOf } from '../src/api-keys/key-form.js';
import { addKeysCommands } from '../src/api-keys/keys.commands.js';
import type { CommandContext } from '../src/common/command.js';
import { createTestApp, type TestApp } from './app.js';
import { testDatabaseUri } from './mongo.js';
import { monitored, readsDuring } from './mongo-commands.js';

const DAY_MS = 86_400_000;
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

interface Shown {
  readonly id: string;
  readonly key: string;
  readonly createdAt: string;
  readonly expiresAt: string;
}

interface Printed<T> {
  readonly json: T;
  readonly text: string;
  readonly said: string;
}

let service: TestApp;

beforeAll(async () => {
  service = await createTestApp({ mongodbUri: monitored(testDatabaseUri()) });
});

afterAll(async () => {
  await service.close();
});

/** Runs a command line in this process; what it printed. */
async function run<T = Shown>(...args: string[]): Promise<Printed<T>> {
  const printed = { json: {}, text: '', said: '' };
  const context: CommandContext = {
    connection: service.database.connection,
    dbInit: true,
    signal: new AbortController().signal,
    print: async (result) => void Object.assign(printed, result),
    deliver: async (result) => void Object.assign(printed, result),
    say: async (message) => void (printed.said += `${message}\n`),
  };
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  addKeysCommands(
    program,
    (handler) =>
      (...rest) =>
        handler(context, ...rest),
  );
  await program.parseAsync(['keys', ...args], { from: 'user' });
  const json: T = JSON.parse(JSON.stringify(printed.json));
  return { ...printed, json };
}

async function create(...options: string[]): Promise<Shown> {
  return (await run('create', '--name', 'Punter Ltd', ...options)).json;
}

describe('keys create', () => {
  it('shows the key alone, and as JSON with all there is to know', async () => {
    const { json, text, said } = await run('create', '--name', 'Punter Ltd');
    const { id, key } = json;
    expect(json).toEqual({
      id: keyIdOf(key),
      key,
      name: 'Punter Ltd',
      state: 'active',
      createdAt: expect.stringMatching(ISO_TIME),
      expiresAt: null,
      revokedAt: null,
      rateLimit: null,
      streams: null,
      rotatedFrom: null,
      rotatedTo: null,
    });
    expect(text).toBe(key);
    expect(said).toBe(`Key ${id} (Punter Ltd): keep it now, it is shown this once.\n`);
    await service.getOpen('/v1/markets/market/fixture/x').set('X-API-Key', key).expect(200);
  });

  it('takes an end and limits', async () => {
    const shown = await create('--expires-in', '90d', '--rate-limit', '0', '--streams', '3');
    expect(Date.parse(shown.expiresAt) - Date.parse(shown.createdAt)).toBe(90 * DAY_MS);
    expect(shown).toMatchObject({ rateLimit: 0, streams: 3 });
  });

  it.each([
    ['45s', 45_000],
    ['30m', 1_800_000],
    ['12h', DAY_MS / 2],
  ])('takes an end after %s', async (duration, ms) => {
    const { createdAt, expiresAt } = await create('--expires-in', duration);
    expect(Date.parse(expiresAt) - Date.parse(createdAt)).toBe(ms);
  });

  it.each(['a', '⚽', '𝄞'])('takes a name of 100 characters: %s', async (character) => {
    const name = character.repeat(100);
    expect((await run('create', '--name', name)).json).toMatchObject({ name });
  });

  it.each([
    ['no name', []],
    ['an empty name', ['--name', ' ']],
    ['a control character in the name', ['--name', 'a\u001b[2Jb']],
    ['a name of 101 characters', ['--name', '𝄞'.repeat(101)]],
    ['a key for a name', ['--name', generateKey()]],
    ['a key in a name', ['--name', `Punter_${generateKey()}x`]],
    ['a duration of 0', ['--name', 'a', '--expires-in', '0d']],
    ['a duration without a unit', ['--name', 'a', '--expires-in', '90']],
    ['a broken duration', ['--name', 'a', '--expires-in', '1.5h']],
    ['a negative limit', ['--name', 'a', '--rate-limit', '-1']],
    ['a broken number of streams', ['--name', 'a', '--streams', '1.5']],
    ['an unknown option', ['--name', 'a', '--admin']],
    ['a stray word', ['--name', 'a', 'b']],
  ])('is wrong usage with %s', async (_what, args) => {
    await expect(run('create', ...args)).rejects.toMatchObject({ name: 'CommanderError' });
  });
});

describe('keys list', () => {
  it('shows what a majority has: a key that is revoked on its primary alone may be good again', async () => {
    const reads = await readsDuring(service.database.connection, () => run('list'));
    expect(reads).toMatchObject([{ find: 'api_keys', readConcern: { level: 'majority' } }]);
  });

  it('has the newest key last', async () => {
    const ids: string[] = [];
    for (let made = 0; made < 6; made += 1) ids.push((await create()).id);
    const { json } = await run<Shown[]>('list');
    expect(json.map(({ id }) => id).filter((id) => ids.includes(id))).toEqual(ids);
  });

  it('shows every key and no secret', async () => {
    const { id, key } = await create('--rate-limit', '7', '--streams', '3');
    const { json, text } = await run('list');
    expect(json).toContainEqual(
      expect.objectContaining({ id, name: 'Punter Ltd', state: 'active', rateLimit: 7 }),
    );
    expect(text).toMatch(/^ID +NAME +STATE +CREATED +EXPIRES +PER MINUTE +STREAMS\n/);
    expect(text).toMatch(new RegExp(`^${id}  Punter Ltd +active  \\S+  never  +7  +3$`, 'm'));
    for (const shown of [JSON.stringify(json), text]) {
      expect(shown).not.toContain(key.slice(17, 49));
      expect(shown).not.toContain(hashKey(key));
    }
  });
});

const odd = async (fields: object) => {
  const id = keyIdOf(generateKey()) ?? '';
  const record: object = { _id: id, hash: 'none', ...fields };
  await service.database.connection.collection('api_keys').insertOne(record);
  return id;
};

describe('records that others wrote', () => {
  it('are listed, revoked and rotated as far as they make sense', async () => {
    const bare = await odd({});
    const strange = await odd({ name: 7, createdAt: 'x', expiresAt: '2999-01-01', rateLimit: -1 });
    const { json, text } = await run<Shown[]>('list');
    expect(json).toContainEqual(expect.objectContaining({ id: bare, name: '', createdAt: null }));
    expect(json).toContainEqual(
      expect.objectContaining({ id: strange, state: 'unreadable', rateLimit: null }),
    );
    expect(text).toMatch(new RegExp(`^${strange} +unreadable +unknown +unknown +default`, 'm'));
    await expect(run('rotate', strange)).rejects.toThrow(/its expiresAt is no date/);
    expect((await run('rotate', bare)).json).toMatchObject({ name: bare, state: 'active' });
    const ended = await odd({ expiresAt: new Date(0) });
    for (const id of [bare, strange, ended]) {
      expect((await run('revoke', id)).json).toMatchObject({ id, state: 'revoked' });
    }
  });

  it('are listed with an id that can be told, whatever type it has', async () => {
    await odd({ _id: { of: 'another service' } });
    const { json } = await run<Shown[]>('list');
    expect(json.map(({ id }) => id)).toContain('{"of":"another service"}');
  });

  it('that end keep their end when rotated, if nobody knows how old they are', async () => {
    const expiresAt = new Date(Date.now() + DAY_MS);
    const madeAfter = new Date(+expiresAt + DAY_MS);
    for (const createdAt of [undefined, 'x', madeAfter]) {
      const id = await odd({ name: 'ageless', createdAt, expiresAt });
      expect((await run('rotate', id)).json.expiresAt).toBe(expiresAt.toISOString());
    }
  });
});

describe('keys revoke', () => {
  it('ends a key; again is the same', async () => {
    const { id } = await create();
    const { json, text } = await run('revoke', id);
    expect(text).toBe(`Revoked ${id} (Punter Ltd).`);
    expect(json).toMatchObject({
      id,
      state: 'revoked',
      revokedAt: expect.stringMatching(ISO_TIME),
    });
    expect((await run('revoke', id)).json).toEqual(json);
  });

  it('fails for an id that is not there, and does not repeat it: it may be a key', async () => {
    const { key } = await create();
    await expect(run('revoke', key)).rejects.toThrow(
      /^There is no key with this id, the 12 characters after mos_\.$/,
    );
  });
});

describe('keys rotate', () => {
  it('replaces a key; the old one ends after the overlap', async () => {
    const old = await create('--rate-limit', '7', '--streams', '3');
    const { json } = await run('rotate', old.id, '--overlap', '2h');
    const { id, key } = json;
    expect(json).toMatchObject({
      name: 'Punter Ltd',
      rateLimit: 7,
      streams: 3,
      rotatedFrom: old.id,
    });
    expect(keyIdOf(key)).toBe(id);
    expect(await endOf(old.id)).toBeCloseTo(Date.now() + DAY_MS / 12, -4);
  });

  it('leaves a day when nothing is said', async () => {
    const old = await create();
    await run('rotate', old.id);
    expect(await endOf(old.id)).toBeCloseTo(Date.now() + DAY_MS, -4);
  });

  it('fails for a key that is revoked', async () => {
    const { id } = await create();
    await run('revoke', id);
    await expect(run('rotate', id)).rejects.toThrow(new Error('The key is revoked.'));
  });
});

it('keys list tells a key without limits from one with the default ones', async () => {
  const { id } = await create('--rate-limit', '0', '--streams', '0');
  const { text } = await run('list');
  expect(text.split('\n').find((line) => line.startsWith(id))).toMatch(/never\s+0\s+0$/);
});

async function endOf(id: string): Promise<number> {
  const shown = (await run<Shown[]>('list')).json;
  return Date.parse(shown.find((each) => each.id === id)?.expiresAt ?? '');
}
