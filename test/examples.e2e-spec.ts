import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { MarketsClient } from '../clients/typescript/src/client.js';
import { demoMarkets } from '../src/demo/demo-markets.js';
import { createTestApp, type TestApp } from './app.js';
import { store } from './factories.js';

const text = (file: string) => readFileSync(file, 'utf8');

describe('the README', () => {
  let service: TestApp;

  beforeAll(async () => {
    service = await createTestApp();
    await store(service.database.connection, ...demoMarkets());
  });

  afterAll(() => service.close());

  it('shows what its questions are answered', async () => {
    const examples = [
      ...text('README.md').matchAll(/'http:\/\/localhost:3000(\S+)'\n```\n\n```json\n([^]*?)```/g),
    ];
    expect(examples).toHaveLength(2);
    for (const [, path = '', json = ''] of examples) {
      const shown = JSON.parse(json) as { requestId?: string };
      const { body } = await service.get(path);
      expect({ ...body, requestId: shown.requestId }).toEqual({ requestId: undefined, ...shown });
    }
  });

  it('tells the defaults', async () => {
    const { body } = await service.getOpen('/openapi.json');
    const { parameters } = body.paths['/v1/markets/market/fixture/{fixtureId}'].get as {
      parameters: { name: string; schema: { default?: number } }[];
    };
    const rows = parameters
      .filter(({ schema }) => schema.default !== undefined)
      .map(({ name, schema }) => new RegExp(`^\\| \`${name}\` .* ${schema.default} +\\|$`, 'm'));
    expect(rows).toHaveLength(2);
    for (const row of rows) expect(text('README.md')).toMatch(row);
  });
});

it('pages name commands that there are', () => {
  const docs = readdirSync('docs').filter((name) => name.endsWith('.md'));
  const pages = ['README.md', '.github/workflows/ci.yml', ...docs.map((name) => `docs/${name}`)];
  const named = pages.flatMap((page) => [
    ...text(page).matchAll(/\bcli(?:\.js)?(?: --json)? (\w+ \w+)/g),
  ]);
  const known = [
    'keys create',
    'keys list',
    'keys revoke',
    'keys rotate',
    'markets import',
    'db init',
    'db status',
  ];
  expect(known).toEqual(expect.arrayContaining(named.map(([, command]) => command)));
});

it('the client has what its README calls', () => {
  const called = [...text('clients/typescript/README.md').matchAll(/\bclient\.(\w+)\(/g)];
  expect(called.length).toBeGreaterThan(5);
  for (const [, name] of called) expect(MarketsClient.prototype).toHaveProperty(name as string);
});

it('nginx, as the guide sets it up, cuts no stream', () => {
  const [, block = ''] = /```nginx\n([^]*?)```/.exec(text('docs/deployment.md')) ?? [];
  const [, lookUps = ''] = /location \/ (\{[^}]*\})/.exec(block) ?? [];
  expect(lookUps).toContain('proxy_read_timeout 3s;');
  expect(block.replace(lookUps, '')).not.toContain('proxy_read_timeout');
});

it('the guide makes a role and a user of it', () => {
  const [, script = ''] = /--eval '\n([^']*)'/.exec(text('docs/deployment.md')) ?? [];
  const made: object[] = [];
  const database = {
    createRole: (role: object) => made.push(role),
    createUser: (user: object) => made.push(user),
  };
  const fs = { readFileSync: (file: string) => text(file) };
  const db = { getSiblingDB: () => database };
  runInNewContext(script, { db, fs, passwordPrompt: () => 'a password' });
  expect(JSON.parse(JSON.stringify(made))).toMatchObject([
    { role: 'marketsService', roles: [], privileges: [{ resource: { collection: '' } }] },
    { user: 'markets-service', roles: ['marketsService'] },
  ]);
});

it('the live page does not come back where too much is watched', async () => {
  const page = new URL('../src/docs/live/live-stream.js', import.meta.url).href;
  const { followStream } = (await import(page)) as {
    followStream: (options: object) => Promise<string>;
  };
  const answer = 'retry: 1\nevent: end\ndata: {"reason":"size"}\n\n';
  const fetch = jest
    .spyOn(globalThis, 'fetch')
    .mockImplementation(async () => new Response(answer));
  const signal = AbortSignal.timeout(1_000);
  const listeners = { onEvent: () => 0, onWait: () => 0 };
  const ended = await followStream({ url: 'http://a', key: 'k', signal, ...listeners });
  expect(ended).toBe('Ended by the server: size');
  expect(fetch).toHaveBeenCalledTimes(1);
  fetch.mockRestore();
});
