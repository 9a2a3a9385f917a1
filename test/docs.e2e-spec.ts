import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { OpenAPIV3_1 } from 'openapi-types';
import supertest from 'supertest';
import { readFile } from 'node:fs/promises';
import { DEMO_KEY } from '../src/api-keys/demo-key.js';
import { MARKETS } from '../src/common/collections.js';
import { FRESH_FOR_MS } from '../src/change-feed/feed-progress.js';
import { READ_BUDGET_MS } from '../src/database/bounded-reads.js';
import { databaseName, DRIVER_OPTIONS } from '../src/database/driver-options.js';
import { HTTP_LIMITS, SERVER_OPTIONS } from '../src/http/http-limits.js';
import { PROBLEMS } from '../src/http/problem-codes.js';
import { demoMarkets } from '../src/demo/demo-markets.js';
import { listParameters } from '../src/http/input/parameters.js';
import { WATCH_MARKETS_MAX } from '../src/markets/cache/find-scopes.js';
import { SCOPE_MARKETS_MAX } from '../src/markets/cache/make-scope.js';
import { MarketsQuery } from '../src/markets/markets-query.dto.js';
import { FILTERED_FIELDS, MARKET_MOMENTS, MARKET_TYPES } from '../src/markets/market.schema.js';
import { SCOPE_FIELDS } from '../src/markets/scope.js';
import { readCursor } from '../src/markets/watch/cursor.js';
import { StreamTimes } from '../src/markets/watch/stream-times.js';
import { Watch } from '../src/markets/watch/watch.js';
import { createTestApp, type TestApp } from './app.js';
import { readCommitted } from './committed.js';
import { store } from './factories.js';
import { LOOKUPS } from './lookups.js';
import { sendRaw } from './raw-http.js';
import { OpenApiValidator } from './openapi-validator.js';

/** Text by the rule of ids. */
const TEXT = { type: 'string', pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]{1,256}$' };

let service: TestApp;
let document: OpenAPIV3_1.Document;

beforeAll(async () => {
  service = await createTestApp();
  await store(service.database.connection, ...demoMarkets());
  ({ body: document } = await service.getOpen('/openapi.json').expect(200));
});

afterAll(async () => {
  await service.close();
});

describe('GET /openapi.json', () => {
  it('is OpenAPI 3.1, and the one in the repository', async () => {
    expect(document.openapi).toBe('3.1.0');
    const served = `${JSON.stringify(document, null, 2)}\n`;
    expect(await readCommitted('openapi.json', served)).toBe(served);
  });

  it.each(LOOKUPS)('says exactly what GET $route/{$id} takes', ({ route, id }) => {
    const parameters = parametersOf(`${route}/{${id}}`);
    expect(Object.keys(parameters)[0]).toBe(id);
    expect(parameters).toEqual({
      [id]: { in: 'path', required: true, schema: { ...TEXT, example: expect.any(String) } },
      page: {
        in: 'query',
        required: false,
        schema: {
          type: 'integer',
          format: 'int64',
          minimum: 1,
          maximum: 9007199254740991,
          default: 1,
        },
      },
      take: {
        in: 'query',
        required: false,
        schema: { type: 'integer', minimum: 1, maximum: 100, default: 10 },
      },
      marketMoment: severalOf({ type: 'string', enum: MARKET_MOMENTS }),
      marketType: severalOf({ type: 'string', enum: MARKET_TYPES }),
      marketStatus: severalOf(TEXT),
      provider: severalOf(TEXT),
    });
  });

  it.each(LOOKUPS)('says every status that GET $route/{$id} can give', ({ route, id }) => {
    const { responses } = operation(`${route}/{${id}}`);
    expect(Object.keys(responses ?? {}).join(' ')).toBe(
      '200 304 400 401 404 405 408 413 417 429 431 500 503 504',
    );
  });

  it('offers both ways of the key for the look-ups, the header first, and none for what is open', () => {
    expect(document.components?.securitySchemes).toMatchObject({
      api_key: { type: 'apiKey', in: 'query', name: 'api_key' },
      'X-API-Key': { type: 'apiKey', in: 'header', name: 'X-API-Key' },
    });
    expectSecurity(document, [{ 'X-API-Key': [] }, { api_key: [] }]);
  });

  it('offers the header alone where the query may hold no key', async () => {
    const headerOnly = await createTestApp({ authAllowQueryKey: false });
    const { body } = await headerOnly.getOpen('/openapi.json').expect(200);
    await headerOnly.close();
    expect(Object.keys(body.components.securitySchemes)).toEqual(['X-API-Key']);
    expectSecurity(body, [{ 'X-API-Key': [] }]);
  });

  it.each(LOOKUPS)(
    'has an example for GET $route/{$id} that finds demo markets',
    async ({ route, id }) => {
      const example = parametersOf(`${route}/{${id}}`)[id]?.schema.example;

      const { body } = await service.get(`${route}/${example}`).expect(200);

      expect(body.data.length).toBeGreaterThan(0);
    },
  );

  it('has an example for GET /v1/markets/changes that finds demo markets', async () => {
    const fixtureIds = parametersOf('/v1/markets/changes')['fixtureId']?.schema.example;
    const { body } = await service.get(`/v1/markets/changes?fixtureId=${fixtureIds}`).expect(200);
    expect(fixtureIds).toHaveLength(1);
    expect(body.data[0].changed.length).toBeGreaterThan(0);
  });

  it('names every id that markets are looked up by, wherever it names one', async () => {
    const { ChangesGroup } = document.components?.schemas ?? {};
    const live = await service.getOpen('/docs/live').expect(200);
    const places = {
      lookups: LOOKUPS.map(({ id }) => id),
      changes: Object.keys(parametersOf('/v1/markets/changes')),
      stream: Object.keys(parametersOf('/v1/markets/stream')),
      group: Object.keys((ChangesGroup as OpenAPIV3_1.SchemaObject).properties ?? {}),
      live: [...live.text.matchAll(/<textarea name="(\w+)"/g)].map(([, name]) => name),
    };
    for (const [place, names] of Object.entries(places))
      expect([place, names]).toEqual([place, expect.arrayContaining([...SCOPE_FIELDS])]);
  });

  it('shows cursors that can be asked with', async () => {
    const shown = [...JSON.stringify(document).matchAll(/AW[\w-]{26}/g)].map(([cursor]) => cursor);
    expect(shown).toHaveLength(2);
    for (const since of shown)
      await service.get(`/v1/markets/changes?fixtureId=demo-fixture-1&since=${since}`).expect(200);
  });

  it('describes every schema property, with an example that its schema allows', () => {
    const validator = new OpenApiValidator(document);
    const schemas = Object.entries(document.components?.schemas ?? {});
    expect(schemas.length).toBeGreaterThan(5);
    for (const [name, { properties = {} }] of schemas) {
      for (const [property, schema] of Object.entries(properties as Properties)) {
        const where = `${name}.${property}`;
        expect([where, schema.description]).toEqual([where, expect.stringMatching(/^[A-Z].*\.$/)]);
        if (isComposed(schema)) continue;
        expect([where, schema.example]).toEqual([where, expect.anything()]);
        expect([where, validator.schemaFaults(schema, schema.example)]).toEqual([where, []]);
      }
    }
  });

  it('has answers that generated clients can read, whatever is stored', () => {
    const { Market, Runner, PageMeta } = (document.components?.schemas ?? {}) as Properties;
    expect(Market?.required).toEqual(['_id']);
    const words = { description: expect.any(String), example: expect.any(String) };
    for (const field of FILTERED_FIELDS)
      expect(Market?.properties?.[field]).toEqual({ ...words, type: 'string' });
    const { marketMoment, marketType } = (Market?.properties ?? {}) as Properties;
    for (const value of MARKET_MOMENTS) expect(marketMoment?.description).toContain(value);
    for (const value of MARKET_TYPES) expect(marketType?.description).toContain(value);
    expect(Runner?.properties?.['price']).toMatchObject({ type: 'number', format: 'double' });
    for (const count of ['page', 'itemCount', 'pageCount'])
      expect(PageMeta?.properties?.[count]).toMatchObject({ type: 'integer', format: 'int64' });
  });

  it('has an example of each problem, with the status that it stands under', () => {
    const validator = new OpenApiValidator(document);
    const codes = new Set<string>();
    for (const { template, operation: each } of validator.operations) {
      for (const [status, answer] of Object.entries(each.responses ?? {})) {
        if (Number(status) < 400) continue;
        const { content = {} } = answer as OpenAPIV3_1.ResponseObject;
        const { schema = {}, examples = {} } = content['application/problem+json'] ?? {};
        expect([template, status, Object.keys(examples)]).not.toEqual([template, status, []]);
        for (const [code, { value }] of Object.entries(examples as Examples)) {
          codes.add(code);
          expect(value).toMatchObject({ code, status: Number(status) });
          expect(validator.schemaFaults(schema, value)).toEqual([]);
        }
      }
    }
    expect([...codes].toSorted()).toEqual(Object.keys(PROBLEMS).toSorted());
  });

  it('describes every operation, parameter and answer', () => {
    for (const { template, operation: each } of new OpenApiValidator(document).operations) {
      expect([template, each.summary, each.operationId, each.tags]).toEqual([
        template,
        expect.stringMatching(/^[A-Z].{10,}/),
        expect.any(String),
        [expect.any(String)],
      ]);
      expect(document.tags?.map(({ name }) => name)).toContain(each.tags?.[0]);
      const described = [...(each.parameters ?? []), ...Object.values(each.responses ?? {})];
      for (const { description } of described) expect(description).toMatch(/.{5,}/);
    }
  });
});

it('the README has every route and filter in its tables, and what a query may hold', async () => {
  const readme = await readFile('README.md', 'utf8');
  const routes = Object.keys(document.paths ?? {}).filter((path) => path.startsWith('/v1/'));
  const rows = [
    ...routes.map((path) => `| \`GET ${path}\``),
    ...FILTERED_FIELDS.map((name) => `| \`${name}\``),
    `is not known: allowed are ${listParameters(MarketsQuery)
      .map(({ name }) => name)
      .join(', ')}`,
  ];
  expect(rows.filter((row) => !readme.includes(row))).toEqual([]);
});

it('the README has every problem in its table', async () => {
  const readme = await readFile('README.md', 'utf8');
  const told = [...readme.matchAll(/^\| (\d{3}) +\| ([^|]+)/gm)].flatMap(([, status, names = '']) =>
    [...names.matchAll(/`(\w+)`/g)].map(([, code]) => [code, Number(status)]),
  );
  const all = Object.entries(PROBLEMS).map(([code, { status }]) => [code, status]);
  expect(Object.fromEntries(told)).toEqual(Object.fromEntries(all));
});

it('the README tells the bounds of a question as they are', async () => {
  const readme = (await readFile('README.md', 'utf8')).replaceAll(/\s+/g, ' ');
  const { take } = parametersOf(`${LOOKUPS[0].route}/{${LOOKUPS[0].id}}`);
  const { provider, eventId, conflateMs } = parametersOf('/v1/markets/stream');
  const bounds = [
    `items per page, 1 to ${take?.schema.maximum}`,
    `takes up to ${provider?.schema.maxItems} values`,
    `at most ${eventId?.schema.maxItems} ids together`,
    `\`conflateMs\` (up to ${conflateMs?.schema.maximum?.toLocaleString('en')})`,
    `at most ${SCOPE_MARKETS_MAX.toLocaleString('en')} markets, and all ids together at most ${WATCH_MARKETS_MAX.toLocaleString('en')};`,
    `On one connection ${HTTP_LIMITS.pipelined} requests may wait`,
  ];
  expect(bounds.filter((bound) => !readme.includes(bound))).toEqual([]);
});

it('the guides and decisions tell bounds as they are', async () => {
  const { servedWithinMs, longestWaitMs, pipelined } = HTTP_LIMITS;
  const { keepAliveTimeout = 0, maxHeaderSize = 0 } = SERVER_OPTIONS;
  const { maxPoolSize } = DRIVER_OPTIONS;
  const { sharedPages, markets } = READ_BUDGET_MS;
  const { drainMs } = new StreamTimes();
  const largest = SCOPE_MARKETS_MAX.toLocaleString('en');
  const told: Readonly<Record<string, readonly string[]>> = {
    'CONTRIBUTING.md': [`all older than ${FRESH_FOR_MS} ms is told`],
    'docs/operations.md': [
      `not be served within ${servedWithinMs / 1_000} s is refused`,
      `Each process has ${maxPoolSize} connections`,
      `missed no change older than ${FRESH_FOR_MS} ms`,
    ],
    'docs/scaling.md': [`N × (${maxPoolSize} at most`],
    'docs/deployment.md': [
      `takes ${maxHeaderSize / 1_024} KiB of request line and headers`,
      `less than ${keepAliveTimeout / 1_000} s, after which it closes them`,
      `with \`draining\`, spread over ${drainMs / 1_000} s`,
    ],
    'docs/decisions/0003-scopes-in-memory-kept-current-by-the-change-feed.md': [
      `at most ${FRESH_FOR_MS} ms ago`,
      `Scopes of more than ${largest} markets`,
    ],
    'docs/decisions/0007-look-ups-share-a-command.md': [`${sharedPages} of the ${markets} ms`],
    'docs/decisions/0008-too-much-is-refused-at-the-door.md': [
      `is served in ${servedWithinMs / 1_000} s`,
      `has waited ${longestWaitMs / 1_000} s is refused`,
      `more than ${pipelined} on a connection`,
    ],
  };
  for (const [page, bounds] of Object.entries(told)) {
    const text = (await readFile(page, 'utf8')).replaceAll(/\s+/g, ' ');
    expect([page, bounds.filter((bound) => !text.includes(bound))]).toEqual([page, []]);
  }
});

it('the README shows cursors of what it asks', async () => {
  const readme = await readFile('README.md', 'utf8');
  const filters = { marketType: ['OVER_UNDER'], marketMoment: ['live'] } as const;
  const collection = `${databaseName('mongodb://127.0.0.1/')}.${MARKETS}`;
  const { hash } = new Watch(['eventId:nb-1001'], filters, collection);
  const shown = [...readme.matchAll(/AW[\w-]{26}/g)].map(
    ([cursor]) => readCursor(cursor)?.watchHash,
  );
  expect(shown).toEqual([hash, hash, hash]);
});

describe('GET /docs', () => {
  it('is Swagger UI with this very document, and everything that it needs', async () => {
    const page = await service.getOpen('/docs').expect(200);
    const files = [...page.text.matchAll(/(?:src|href)="\.(\/[^"]+)"/g)].map(([, file]) => file);

    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(files).toEqual(
      expect.arrayContaining([
        '/docs/swagger-ui.css',
        '/docs/swagger-ui-bundle.js',
        '/docs/swagger-ui-init.js',
      ]),
    );
    for (const file of files) await service.getOpen(file ?? '').expect(200);
    const remove = async (path: string) => (await supertest(service.url).delete(path)).status;
    expect(await Promise.all(['/docs', files[0] ?? '', '/docs/x'].map(remove))).toEqual([
      405, 405, 404,
    ]);
    const { text } = await service.getOpen('/docs/swagger-ui-init.js').expect(200);
    for (const { route, id } of LOOKUPS) expect(text).toContain(`"${route}/{${id}}"`);
  });

  it('is safe in a browser, and works over plain http', async () => {
    const { headers } = await service.getOpen('/docs').expect(200);

    expect(headers['content-security-policy']).toMatch(/default-src 'self'/);
    expect(headers['content-security-policy']).not.toMatch(/upgrade-insecure-requests/);
    const byWholeUrl = 'GET http://x/docs HTTP/1.1\r\nHost: x\r\n\r\n';
    const [answer] = await sendRaw(service.port, byWholeUrl);
    expect(answer?.head).toContain("Content-Security-Policy: default-src 'self'");
    expect(headers).not.toHaveProperty('strict-transport-security');
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'SAMEORIGIN',
    });
  });

  it('is a page, and what is not there below it is data', async () => {
    const { headers } = await service.getOpen('/docs/nothing').expect(404);
    expect(headers['content-security-policy']).toMatch(/default-src 'none'/);
  });
});

describe('GET /docs/live', () => {
  it('is a page of our own, with all that it needs, as safe as Swagger UI', async () => {
    const page = await service.getOpen('/docs/live').expect(200);
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    // Without inline parts, which a stricter policy would refuse.
    expect(page.text).not.toMatch(/<script(?![^>]+src=)|<style| style=| on\w+=/);
    const { headers } = await service.getOpen('/docs').expect(200);
    const policy = 'content-security-policy';
    expect(page.headers[policy]).toBe(headers[policy]);

    // Else a browser would offer the key to whoever uses it next.
    expect(page.text).toMatch(/<form[^>]* autocomplete="off"/);

    // Relative, so that it works behind a path prefix.
    const files = [...page.text.matchAll(/(?:src|href)="([^":]+)"/g)].map(
      ([, file]) => new URL(file ?? '', 'http://localhost/docs/live').pathname,
    );
    expect(page.text).not.toMatch(/(?:src|href)="\//);
    expect(files).toEqual(['/docs/live.css', '/docs/live.js', '/docs']);
    const { text } = await service.getOpen('/docs/live.js').expect(200);
    const modules = [...text.matchAll(/from '\.(\/[^']+)'/g)].map(([, file]) => `/docs${file}`);
    expect(modules).toHaveLength(2);
    for (const file of [...files, ...modules]) await service.getOpen(file).expect(200);
    const again = await service
      .getOpen('/docs/live')
      .set('If-None-Match', page.headers['etag'] ?? '')
      .expect(304);
    // A browser takes it for the policy of the page that it has kept.
    expect(again.headers[policy]).toBe(headers[policy]);
  });

  it('has the demo key filled in for the embedded MongoDB alone', async () => {
    const { text } = await service.getOpen('/docs/live').expect(200);
    expect(text).not.toMatch(/mos_|demo-fixture|selected|\{\{/);

    const embedded = await createTestApp({ isEmbedded: true });
    const page = await embedded.getOpen('/docs/live').expect(200);
    expect(page.text).toContain(`value="${DEMO_KEY}"`);
    expect(page.text).toContain('>demo-fixture-1\ndemo-fixture-2<');
    await embedded.close();
  });
});

type Examples = Record<string, OpenAPIV3_1.ExampleObject>;
type Properties = Record<string, OpenAPIV3_1.SchemaObject & Record<string, unknown>>;

/** A filter: given several times, each time with another value. */
function severalOf(items: object) {
  return {
    in: 'query',
    required: false,
    style: 'form',
    explode: true,
    schema: { type: 'array', items, minItems: 1, maxItems: 20, uniqueItems: true },
  };
}

function isComposed(schema: Properties[string]): boolean {
  return 'allOf' in schema || (schema.type === 'array' && '$ref' in schema.items);
}

/** Look-ups want a key in one of these ways, all else none. */
function expectSecurity({ paths = {} }: OpenAPIV3_1.Document, ways: readonly object[]): void {
  for (const [path, item] of Object.entries(paths)) {
    const expected = path.startsWith('/v1/') ? ways : [];
    expect([path, item?.get?.security]).toEqual([path, expected]);
  }
}

function operation(template: string): OpenAPIV3_1.OperationObject {
  return document.paths?.[template]?.get ?? {};
}

/** Where each parameter stands and what it may be, by name. */
function parametersOf(template: string) {
  const parameters = (operation(template).parameters ?? []) as OpenAPIV3_1.ParameterObject[];
  return Object.fromEntries(
    parameters.map(({ name, in: place, required, style, explode, schema }) => [
      name,
      {
        in: place,
        required,
        ...(style && { style, explode }),
        schema: schema as OpenAPIV3_1.SchemaObject,
      },
    ]),
  );
}
