import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Browser, type Page } from 'playwright-core';
import { DEMO_KEY } from '../../src/api-keys/demo-key.js';
import { startServer, type ServerProcess } from '../server-process.js';
import { until } from '../until.js';
import { findChromium } from './find-chromium.js';
import { SwaggerPage } from './swagger-page.js';

const EXAMPLE = '/v1/markets/market/fixture/demo-fixture-1';
const START_MS = 60_000;

const executablePath = findChromium();
if (!executablePath) {
  process.stderr.write('Skipped: no Chromium on the PATH, and $CHROMIUM names none.\n');
}

let folder: string;
let service: ServerProcess;
let browser: Browser;
let page: Page;
let passed: boolean;

(executablePath ? describe : describe.skip)('/docs in Chromium', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'markets-odds-browser-'));
    service = await startServer({ EMBEDDED_DB_PATH: join(folder, 'mongo') });
    // The service listens before the demo markets are in.
    await until(demoIsIn);
    browser = await chromium.launch({ executablePath });
  }, START_MS);

  beforeEach(async () => {
    passed = false;
    page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
  });

  afterEach(async () => {
    if (!passed) await keepPicture();
    await page.close();
  });

  afterAll(async () => {
    await browser?.close();
    // The embedded MongoDB ends with it.
    await service?.stop('SIGTERM');
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }, START_MS);

  it.each([
    ['fixture', 'X-API-Key', 'byFixture', { fixtureId: 'demo-fixture-1' }],
    ['fixture', 'api_key', 'byFixture', { fixtureId: 'demo-fixture-1' }],
    ['provider', 'X-API-Key', 'byEvent', { eventId: 'nb-1001' }],
  ] as const)(
    'tries the %s route, authorized by %s, and sees markets',
    async (_route, scheme, operationId, example) => {
      const swagger = await SwaggerPage.open(page, service.url);
      await swagger.authorize(scheme, DEMO_KEY);

      const { status, body, url } = await swagger.execute(operationId);

      expect({ status, body }).toEqual({
        status: 200,
        body: {
          data: Array.from({ length: 10 }, () =>
            expect.objectContaining({ ...example, runners: expect.any(Array) }),
          ),
          meta: expect.objectContaining({ page: 1, take: 10, hasNextPage: true }),
        },
      });
      expect(url.includes(DEMO_KEY)).toBe(scheme === 'api_key');
      expectNothingAmiss(swagger);
      passed = true;
    },
  );

  it('tries many ids with the example that is filled in', async () => {
    const swagger = await SwaggerPage.open(page, service.url);
    await swagger.authorize('X-API-Key', DEMO_KEY);
    // The page remembers the key.
    await page.goto(`${service.url}/docs`);
    expect(await swagger.execute('listChanges')).toMatchObject({
      status: 200,
      body: { data: [{ fixtureId: 'demo-fixture-1', changed: expect.any(Array) }] },
    });
    expectNothingAmiss(swagger);
    passed = true;
  });

  it('does not try a stream, which would not end', async () => {
    const swagger = await SwaggerPage.open(page, service.url);
    expect(await swagger.canExecute('streamChanges')).toBe(false);
    expectNothingAmiss(swagger);
    passed = true;
  });

  it('shows the problem when nobody is authorized', async () => {
    const swagger = await SwaggerPage.open(page, service.url);
    const { status, body } = await swagger.execute('byFixture');
    expect({ status, body }).toEqual({
      status: 401,
      body: expect.objectContaining({ code: 'unauthorized', status: 401 }),
    });
    // The browser itself notes each answer that is an error.
    expect(swagger.complaints).toEqual([expect.stringMatching(/^error: .* 401 /)]);
    passed = true;
  });
});

/** All came from the service itself, and the browser had nothing to say against it. */
function expectNothingAmiss({ origins, complaints }: SwaggerPage): void {
  expect([...origins].filter((origin) => origin !== 'data:')).toEqual([service.url]);
  expect(complaints).toEqual([]);
}

async function demoIsIn(): Promise<boolean> {
  const answer = await fetch(service.url + EXAMPLE, { headers: { 'X-API-Key': DEMO_KEY } });
  const { data = [] } = (await answer.json()) as { data?: unknown[] };
  return data.length > 0;
}

async function keepPicture(): Promise<void> {
  const path = join(tmpdir(), `markets-odds-docs-${Date.now()}.png`);
  await page.screenshot({ path, fullPage: true });
  process.stderr.write(`How it looked: ${path}\n`);
}
