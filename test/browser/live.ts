import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MongoClient, type Collection } from 'mongodb';
import { chromium, type Browser, type Page, type Request } from 'playwright-core';
import { demoMarkets, type DemoMarket } from '../../src/demo/demo-markets.js';
import { freePort } from '../../src/embedded-mongod/free-port.js';
import { startServer, type ServerProcess } from '../server-process.js';
import { findChromium } from './find-chromium.js';

const START_MS = 60_000;
/** From a write in MongoDB to the page. */
const SHOWN_WITHIN = { timeout: 2_000 };

const executablePath = findChromium();

let folder: string;
let env: Record<string, string>;
let service: ServerProcess;
let client: MongoClient;
let markets: Collection<DemoMarket>;
let browser: Browser;
let page: Page;
const complaints: string[] = [];
const origins = new Set<string>();

(executablePath ? describe : describe.skip)('/docs/live in Chromium', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'markets-odds-live-'));
    env = { EMBEDDED_DB_PATH: folder, DEMO_FEED: 'false', PORT: String(await freePort()) };
    service = await startServer(env);
    const { port } = JSON.parse(await readFile(join(folder, 'embedded.json'), 'utf8'));
    client = await MongoClient.connect(`mongodb://127.0.0.1:${port}/?replicaSet=embedded`);
    markets = client.db('markets-odds').collection('markets');
    browser = await chromium.launch({ executablePath });
    page = await browser.newPage({ viewport: { width: 390, height: 844 } });
    page.on('pageerror', ({ message }) => complaints.push(message));
    page.on('request', (request) => origins.add(new URL(request.url()).origin));
  }, START_MS);

  afterAll(async () => {
    await browser?.close();
    await client?.close();
    await service?.stop('SIGTERM');
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }, START_MS);

  it('shows the demo without a click, and changes as they are written', async () => {
    const shown = demoMarkets().filter(isShown);
    const [market] = shown;
    if (!market) throw new Error('no demo market');
    await page.goto(`${service.url}/docs/live`);
    await board()
      .nth(shown.length - 1)
      .waitFor();
    expect(await board().count()).toBe(shown.length);
    await page.locator('[data-state="current"]', { hasText: 'Current' }).waitFor();

    const price = page.locator(`[data-id="${String(market._id)}"] .price`).first();
    for (const [value, className] of [
      [7.31, 'price up'],
      [1.02, 'price down'],
    ] as const) {
      await markets.updateOne({ _id: market._id }, { $set: { 'runners.0.price': value } });
      await price.getByText(value.toFixed(2)).waitFor(SHOWN_WITHIN);
      expect(await price.getAttribute('class')).toBe(className);
    }

    await markets.deleteOne({ _id: market._id });
    await price.waitFor({ ...SHOWN_WITHIN, state: 'detached' });
    await markets.insertOne(market);
    await price.waitFor(SHOWN_WITHIN);
    expect(await page.evaluate('document.body.scrollWidth <= innerWidth')).toBe(true);
    expect([...origins].filter((origin) => origin !== 'null')).toEqual([service.url]);
  });

  it('shows the same again from its own link, which names no moment where all are watched', async () => {
    await page.goto(`${service.url}/docs/live?fixtureId=demo-fixture-1`);
    await page.getByText('Current').waitFor();
    const all = demoMarkets().filter(({ fixtureId }) => fixtureId === 'demo-fixture-1');
    expect(await board().count()).toBe(all.length);
    const [first, second, event] = [
      'fixtureId=demo-fixture-1',
      'fixtureId=demo-fixture-2',
      'eventId=nb-1001',
    ];
    await page.goto(
      `${service.url}/docs/live?${event}&${first}&${second}&${first}&marketMoment=prelive`,
    );
    await page.getByText('Current').waitFor();
    expect(new URL(page.url()).search).toBe(`?${first}&${second}&${event}&marketMoment=prelive`);
    const prelive = demoMarkets().filter(({ marketMoment }) => marketMoment === 'prelive');
    const ofFixtures = prelive.filter(({ fixtureId }) => /^demo-fixture-[12]$/.test(fixtureId));
    const ofEvent = prelive.filter(({ eventId }) => eventId === 'nb-1001');
    expect(await board().count()).toBe(ofFixtures.length + ofEvent.length);
    await page.goto(`${service.url}/docs/live`);
    await page.getByText('Current').waitFor();
    expect(new URL(page.url()).search).toBe(`?${first}&${second}&marketMoment=live`);
  });

  it('leaves the stream of what was watched before: a key may have few at a time', async () => {
    const left = page.waitForEvent('requestfailed', { predicate: isStream, timeout: 5_000 });
    await page.evaluate(`document.getElementById('watch').requestSubmit()`);
    expect((await left).failure()?.errorText).toBe('net::ERR_ABORTED');
    await page.getByText('Current').waitFor();
  });

  it('tells how old the board is by what the service says of it', async () => {
    const aMinute = 'retry: 60000\nevent: late\ndata: {"ageMs":60000}\n\n';
    await page.route('**/v1/markets/stream?*', (route) => route.fulfill({ body: aMinute }));
    await page.goto(`${service.url}/docs/live`);
    const age = (text: RegExp) => page.locator('#age', { hasText: text }).waitFor(SHOWN_WITHIN);
    await age(/^as of 60\.\d s ago$/);
    await age(/^as of 6(?:0\.[3-9]|[1-9]\.\d) s ago$/);
    expect(complaints).toEqual([]);
    await page.unroute('**/v1/markets/stream?*');
    await page.route('**/v1/markets/stream?*', (route) => route.abort());
    await page.evaluate(`document.getElementById('watch').requestSubmit()`);
    expect(await page.locator('#age').textContent()).toBe('');
    await page.unroute('**/v1/markets/stream?*');
    await page.goto(`${service.url}/docs/live`);
    await page.getByText('Current').waitFor();
  });

  it('comes back by itself when the service does, and has missed nothing', async () => {
    await service.stop('SIGTERM');
    await page.getByText('Reconnecting').waitFor();
    service = await startServer({ ...env, DEMO_FEED: 'true' });
    await page.getByText('Current').waitFor();
    await page.locator('.up').first().waitFor();
    expect(complaints).toEqual([]);
  });

  it('shows a market whatever fields it lacks', async () => {
    const bare = { _id: 'bare', name: 'Bare', fixtureId: 'demo-fixture-1', marketMoment: 'live' };
    await markets.insertOne(bare as never);
    const shown = page.locator('[data-id="bare"]');
    await shown.waitFor(SHOWN_WITHIN);
    expect(await shown.textContent()).toContain('Bare');
    await markets.deleteOne({ _id: 'bare' as never });
    await shown.waitFor({ ...SHOWN_WITHIN, state: 'detached' });
  });

  it('never has the key in its address, though its program has not run', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    try {
      const form = await context.newPage();
      await form.goto(`${service.url}/docs/live`);
      await form.getByRole('button').click();
      await form.waitForURL(/fixtureId=/);
      expect(form.url()).not.toContain('mos_');
    } finally {
      await context.close();
    }
  });

  it('drops what is gone after a reset', async () => {
    const groups = [['a', 'b'], ['b']].map((ids) => ({
      eventId: 'e',
      reset: true,
      changed: ids.map((id) => bareMarket(id, 'p')),
      removed: [],
    }));
    expect(await shownAfter(groups, IDS)).toEqual(['b']);
  });

  it('shows a market with the provider that it has now, and no provider without any', async () => {
    const groups = ['p', 'q'].map((provider) => ({
      eventId: 'e',
      reset: false,
      changed: [bareMarket('a', provider)],
      removed: [],
    }));
    const providers = `[...root.querySelectorAll('.provider h3')].map((each) => each.textContent)`;
    expect(await shownAfter(groups, providers)).toEqual(['q']);
  });

  it('shows a provider again whose last market was gone', async () => {
    const steps: [string[], string[]][] = [
      [['a'], []],
      [[], ['a']],
      [['b'], []],
    ];
    const groups = steps.map(([ids, removed]) => ({
      eventId: 'e',
      reset: false,
      changed: ids.map((id) => bareMarket(id, 'p')),
      removed,
    }));
    expect(await shownAfter(groups, IDS)).toEqual(['b']);
  });

  it('names each id, what is not open, and where there is nothing', async () => {
    const runners = [{ runnerId: 'r', name: 'r' }];
    const live = { marketMoment: 'live', marketStatus: 'SUSPENDED' };
    const groups = [
      {
        eventId: '1',
        reset: true,
        changed: [{ ...bareMarket('a'), runners, ...live }],
        removed: [],
      },
      { fixtureId: '2', reset: true, changed: [], removed: [] },
    ];
    const shown = await shownAfter(
      groups,
      `[...root.children].map((section) => [
        section.querySelector('h2').textContent,
        section.querySelector('.moment')?.textContent,
        section.querySelector('.price')?.textContent,
        section.querySelector('p').hidden ? '' : section.querySelector('p').textContent,
      ])`,
    );
    expect(shown).toEqual([
      ['Event 1', 'live · SUSPENDED', '–', ''],
      ['Fixture 2', undefined, undefined, 'No markets.'],
    ]);
  });

  it.each([
    ['is wrong', 'mos_wrong', /key/i],
    ['no header can hold', 'mos_…', /failed/],
  ])('says why it is refused with a key that %s', async (_what, key, reason) => {
    await page.goto(`${service.url}/docs/live`);
    await page.getByText('Current').waitFor();
    await page.getByText('What to watch').click();
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button').click();
    const state = page.getByRole('status');
    await state.and(page.locator('[data-state="refused"]')).waitFor();
    expect(await state.textContent()).toMatch(reason);
    expect(await board().count()).toBe(0);
  });
});

/** The ids of the markets on a board, for `shownAfter`. */
const IDS = `[...root.querySelectorAll('.market')].map(({ dataset }) => dataset.id)`;

/** What a board on the page shows when it has got some groups, by an expression of its `root`. */
function shownAfter(groups: readonly object[], expression: string): Promise<unknown> {
  return page.evaluate(`import('/docs/live-board.js').then(({ Board }) => {
    const root = document.createElement('div');
    document.body.append(root);
    const board = new Board(root);
    for (const group of ${JSON.stringify(groups)}) board.apply(group);
    const shown = ${expression};
    root.remove();
    return shown;
  })`);
}

function bareMarket(id: string, provider?: string) {
  return { _id: id, name: id, provider, runners: [] };
}

function isStream(request: Request): boolean {
  return request.url().includes('/v1/markets/stream?');
}

function board() {
  return page.locator('.market');
}

function isShown({ fixtureId, marketMoment }: DemoMarket): boolean {
  return marketMoment === 'live' && /^demo-fixture-[12]$/.test(fixtureId);
}
