import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Express } from 'express';
import type { OpenAPIV3_1 } from 'openapi-types';
import { pino } from 'pino';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { generateKey } from '../src/api-keys/key-form.js';
import { createApp } from '../src/app.setup.js';
import type { RequestFault } from '../src/http/problem-body.dto.js';
import { Config } from '../src/config.js';
import { createTestApp, type TestApp } from './app.js';
import { aMarket, store } from './factories.js';
import { GOOD_KEY, HOST, wire } from './hostile/request.js';
import { LOOKUPS } from './lookups.js';
import { OpenApiValidator } from './openapi-validator.js';
import { sendRaw } from './raw-http.js';

const ID = 'contract';

/** What needs no key, apart from the files of Swagger UI. */
const OPEN_ROUTES = ['/openapi.json', '/metrics', '/health/live', '/health/ready'];

interface Ask {
  readonly path: string;
  readonly query?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
}

let service: TestApp;
let validator: OpenApiValidator;

beforeAll(async () => {
  service = await createTestApp({ cacheMaxMb: 0 });
  validator = new OpenApiValidator(await documentOf(service.url));
  await store(
    service.database.connection,
    ...Array.from({ length: 12 }, () => aMarket({ eventId: ID, fixtureId: ID })),
    { _id: 'bare', eventId: ID, fixtureId: ID },
  );
});

afterAll(async () => {
  await service.close();
});

describe('every documented bound is kept, one step beyond it is refused by name:', () => {
  // Read before any server is up, since these make the tests; a test compares it with the served one.
  const document = JSON.parse(readFileSync('openapi.json', 'utf8')) as OpenAPIV3_1.Document;
  const bounds = LOOKUPS.flatMap(({ route, id }) =>
    parametersOf(document, `${route}/{${id}}`).flatMap(({ name, in: place, schema }) =>
      casesAround(schema as OpenAPIV3_1.SchemaObject).map(({ texts, isAllowed }) => ({
        name,
        isAllowed,
        shown: shown(texts),
        outcome: isAllowed ? 'answered' : 'refused',
        ask:
          place === 'path'
            ? { path: `${route}/${encodeURIComponent(texts.join())}` }
            : { path: `${route}/${ID}`, query: queryOf(name, texts) },
      })),
    ),
  );

  it.each(bounds)('$ask.path: $name = $shown is $outcome', async ({ name, isAllowed, ask }) => {
    const answer = await askFor(ask);

    expect(answer).toEqual(documented(isAllowed ? 200 : 400));
    const { code, errors } = JSON.parse(answer.body) as { code?: string; errors?: RequestFault[] };
    expect([code, errors?.map((fault) => fault.name)]).toEqual(
      isAllowed ? [undefined, undefined] : ['invalid_request', [name]],
    );
  });

  it('has bounds to test on every parameter', () => {
    for (const { route, id } of LOOKUPS) {
      for (const { name } of parametersOf(document, `${route}/{${id}}`)) {
        const own = bounds.filter((bound) => bound.name === name);
        expect([name, new Set(own.map(({ isAllowed }) => isAllowed)).size]).toEqual([name, 2]);
      }
    }
  });

  it.each(LOOKUPS)('and defaults are what GET $route/{$id} takes', async ({ route, id }) => {
    const defaults = parametersOf(document, `${route}/{${id}}`).flatMap(({ name, schema }) => {
      const { default: value } = schema as OpenAPIV3_1.SchemaObject;
      return value === undefined ? [] : [[name, String(value)] as [string, string]];
    });
    const path = `${route}/${ID}`;
    const query = new URLSearchParams(defaults).toString();

    expect(query).toBe('page=1&take=10');
    const { body } = await askFor({ path });
    expect(await askFor({ path, query })).toMatchObject({ status: 200, body });
  });
});

describe('every answer is as the document says:', () => {
  it.each(LOOKUPS)('from GET $route/{$id}', async ({ route }) => {
    const path = `${route}/${ID}`;
    const { key: limited } = await service.keys.create({ name: 'limited', rateLimit: 2 });
    const etag = await tagOf(path);

    expect(await askFor({ path, query: 'take=100' })).toEqual(documented(200));
    expect(await askFor({ path, method: 'HEAD' })).toEqual(documented(200));
    expect(await askFor({ path, headers: { 'Accept-Encoding': 'gzip' } })).toEqual(documented(200));
    expect(await askFor({ path, headers: { 'If-None-Match': etag } })).toEqual(documented(304));
    expect(await askFor({ path, query: 'page=0&take=0&nope=1' })).toEqual(documented(400));
    expect(await askFor({ path, query: `api_key=${service.key}` })).toEqual(documented(400));
    expect(await askFor({ path: `${route}/%zz` })).toEqual(documented(400));
    expect(await askFor({ path, headers: { 'X-API-Key': '' } })).toEqual(documented(401));
    expect(await askFor({ path, headers: { 'X-API-Key': generateKey() } })).toEqual(
      documented(401),
    );
    expect(await askFor({ path, method: 'POST' })).toEqual(documented(405));
    expect(await askFor({ path, method: 'OPTIONS' })).toEqual(documented(405));
    const asLimited = { path, headers: { 'X-API-Key': limited } };
    expect(await askFor(asLimited)).toEqual(documented(200));
    expect(await askFor({ ...asLimited, query: 'page=0' })).toEqual(documented(400));
    expect(await askFor(asLimited)).toEqual(documented(429));
  });

  it.each(OPEN_ROUTES.filter((path) => path !== '/openapi.json'))('from GET %s', async (path) => {
    expect(await askFor({ path })).toEqual(documented(200));
    expect(await askFor({ path, query: 'any=thing', headers: { 'X-API-Key': 'x' } })).toEqual(
      documented(200),
    );
    expect(await askFor({ path, method: 'DELETE' })).toEqual(documented(405));
  });

  it.each([
    [400, { headers: [HOST, HOST, GOOD_KEY] }],
    [413, { headers: [HOST, 'Transfer-Encoding: chunked'], body: `1;${'a'.repeat(20_000)}\r\n` }],
    [417, { headers: [HOST, 'Expect: x'] }],
    [431, { headers: [HOST, `A: ${'a'.repeat(20_000)}`] }],
  ])('from the HTTP parser, with status %i', async (status, parts) => {
    for (const { template } of validator.operations) {
      const path = template.replaceAll(/[{}]/g, '');
      const [answer] = await sendRaw(service.port, wire(path, parts));
      const headers = new Headers([...(answer?.headers ?? [])]);
      const faults = validator.faults({ path, status, headers, body: answer?.body ?? '' });
      expect([answer?.status, faults]).toEqual([status, []]);
    }
  });

  describe('while MongoDB is away', () => {
    let away: NestExpressApplication;
    let url: string;

    beforeAll(async () => {
      const config = Object.assign(new Config(), { mongodbUri: 'mongodb://127.0.0.1:1/nobody' });
      away = await createApp(config, pino({ level: 'silent' }));
      await away.listen(0, '127.0.0.1');
      const { port } = away.getHttpServer().address() as AddressInfo;
      url = `http://127.0.0.1:${port}`;
    });

    afterAll(() => away.close());

    it.each(LOOKUPS)('from GET $route/{$id}', async ({ route }) => {
      const path = `${route}/${ID}`;
      const askAs = (key: string) => askFor({ path, headers: { 'X-API-Key': key } }, url);

      expect(await askAs(generateKey())).toEqual(documented(503));
      expect(await askAs('x')).toEqual(documented(401));
    });

    it('from the probes', async () => {
      expect(await askFor({ path: '/health/ready' }, url)).toEqual(documented(503));
      expect(await askFor({ path: '/health/live' }, url)).toEqual(documented(200));
    });
  });

  describe('while MongoDB is too slow', () => {
    beforeAll(() =>
      setFailPoint('alwaysOn', {
        failCommands: ['aggregate', 'find'],
        blockConnection: true,
        blockTimeMS: 1_500,
        namespace: `${service.database.connection.name}.markets`,
      }),
    );

    afterAll(() => setFailPoint('off'));

    it.each(LOOKUPS)('from GET $route/{$id}', async ({ route }) => {
      expect(await askFor({ path: `${route}/${ID}` })).toEqual(documented(504));
    });
  });
});

it('every route that needs a key refuses a parameter that it does not have', async () => {
  const keyed = validator.operations.filter(({ operation }) => operation.security?.length);
  expect(keyed.length).toBeGreaterThan(LOOKUPS.length);
  for (const { template } of keyed) {
    const { body, ...answer } = await askFor({
      path: template.replaceAll(/[{}]/g, ''),
      query: 'nope=1',
    });
    expect([template, answer]).toEqual([template, documented(400)]);
    expect(JSON.parse(body).errors).toContainEqual(expect.objectContaining({ name: 'nope' }));
  }
});

describe('without a key', () => {
  it('every route of the application is 401, but for those that are open', async () => {
    const routes = routesOf(service).filter((path) => !path.startsWith('/docs'));
    const open: string[] = [];
    for (const route of routes) {
      const path = route.replaceAll(/:\w+/g, ID);
      const { status } = await fetch(service.url + path);
      if (status !== 401) open.push(route);
    }

    expect(routes.length).toBeGreaterThanOrEqual(OPEN_ROUTES.length + LOOKUPS.length);
    expect(open.toSorted()).toEqual(OPEN_ROUTES.toSorted());
  });

  it('every route is in the document, and no other', () => {
    const inDocument = validator.operations.map(({ template }) => template);
    const routes = routesOf(service)
      .filter((path) => !path.startsWith('/docs') && path !== '/openapi.json')
      .map((path) => path.replaceAll(/:(\w+)/g, '{$1}'));

    expect(inDocument.toSorted()).toEqual(routes.toSorted());
  });
});

async function setFailPoint(mode: 'alwaysOn' | 'off', data?: object): Promise<void> {
  const admin = service.database.connection.db?.admin();
  await admin?.command({ configureFailPoint: 'failCommand', mode, ...(data && { data }) });
}

/** Asks, and looks up what the document does not foresee in the answer. */
async function askFor(request: Ask, url = service.url) {
  const { path, query, method = 'GET', headers } = request;
  const answer = await fetch(query ? `${url}${path}?${query}` : url + path, {
    method,
    headers: { 'X-API-Key': service.key, ...headers },
  });
  const body = await answer.text();
  const { status } = answer;
  return {
    status,
    body,
    faults: validator.faults({ path, status, headers: answer.headers, body }),
  };
}

/** An answer of a status, foreseen by the document. */
function documented(status: number): unknown {
  return expect.objectContaining({ status, faults: [] });
}

async function documentOf(url: string): Promise<OpenAPIV3_1.Document> {
  const answer = await fetch(`${url}/openapi.json`);
  return (await answer.json()) as OpenAPIV3_1.Document;
}

async function tagOf(path: string): Promise<string> {
  const { headers } = await service.get(path);
  return headers['etag'] ?? '';
}

function parametersOf(
  { paths }: OpenAPIV3_1.Document,
  template: string,
): OpenAPIV3_1.ParameterObject[] {
  return (paths?.[template]?.get?.parameters ?? []) as OpenAPIV3_1.ParameterObject[];
}

function queryOf(name: string, texts: readonly string[]): string {
  return new URLSearchParams(texts.map((text): [string, string] => [name, text])).toString();
}

function shown(texts: readonly string[]): string {
  const text = JSON.stringify(texts);
  return text.length > 60 ? `${texts.length} × ${texts[0]?.length} code units` : text;
}

interface Case {
  readonly texts: readonly string[];
  readonly isAllowed: boolean;
}

/** The last things that the schema of a parameter allows to be sent, and the first that it does not. */
function casesAround(schema: OpenAPIV3_1.SchemaObject): Case[] {
  const one = ('items' in schema ? schema.items : schema) as OpenAPIV3_1.SchemaObject;
  const single = valuesAround(one).map(({ text, isAllowed }) => ({ texts: [text], isAllowed }));
  const [good = ''] = single.filter(({ isAllowed }) => isAllowed).flatMap(({ texts }) => texts);
  const twice = { texts: [good, good], isAllowed: schema.type === 'array' && !schema.uniqueItems };
  const { maxItems = 0, enum: values } = { ...schema, enum: one.enum };
  if (values ? values.length > 1 : maxItems > 0) {
    const many = Array.from({ length: maxItems + 1 }, (_, index) => `${good}${index}`);
    const lists = values ? [values.map(String)] : [many.slice(1), many];
    const isAllowed = (texts: readonly string[]) => texts.length <= maxItems;
    return [...single, twice, ...lists.map((texts) => ({ texts, isAllowed: isAllowed(texts) }))];
  }
  return schema.type === 'array' || one.type === 'integer' ? [...single, twice] : single;
}

/** The last values that a schema allows, and the first that it does not. */
function valuesAround(schema: OpenAPIV3_1.SchemaObject): { text: string; isAllowed: boolean }[] {
  const { minimum, maximum, enum: values, pattern } = schema;
  const allowed = [minimum, maximum, ...(values ?? [])].filter((value) => value !== undefined);
  const beyond = [
    ...(minimum === undefined ? [] : [BigInt(minimum) - 1n, `${minimum}.5`]),
    ...(maximum === undefined ? [] : [BigInt(maximum) + 1n]),
    ...(values ?? []).flatMap((value) => [`${value}S`, swapCase(String(value))]),
  ];
  return [
    ...allowed.map((value) => ({ text: String(value), isAllowed: true })),
    ...beyond.map((value) => ({ text: String(value), isAllowed: false })),
    ...(pattern ? aroundPattern(new RegExp(pattern, 'u')) : []),
  ];
}

/** Ids at the edges of their rule; which of them are allowed is for the documented pattern to say. */
function aroundPattern(pattern: RegExp): { text: string; isAllowed: boolean }[] {
  const edges = [
    '\u0000',
    '\u001f',
    '\u0020',
    '\u007e',
    '\u007f',
    '\u009f',
    '\u00a0',
    '\u{10ffff}',
  ];
  const texts = [
    ...edges,
    ...['a', '\u00e9', '\u{1f600}'].flatMap((one) => [one.repeat(256), one.repeat(257)]),
  ];
  return texts.map((text) => ({ text, isAllowed: pattern.test(text) }));
}

function swapCase(text: string): string {
  const upper = text.toUpperCase();
  return upper === text ? text.toLowerCase() : upper;
}

/** Paths of all routes that Express knows, in its own words. */
function routesOf({ app }: TestApp): string[] {
  const express: Express = app.getHttpAdapter().getInstance();
  return express.router.stack.flatMap(({ route }) => (route ? [route.path] : []));
}
