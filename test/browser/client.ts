import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { chromium, type Browser, type Page } from 'playwright-core';
import { createTestApp, type TestApp } from '../app.js';
import { aMarket, aRunner, store } from '../factories.js';
import { Line } from '../line.js';
import { PackedClient } from '../packed-client.js';
import { findChromium } from './find-chromium.js';

const executablePath = findChromium();

/** Runs in the page: watches, and keeps what it is told where the test can see it. */
const PROGRAM = `
  const [baseUrl, apiKey, fixtureId] = new URLSearchParams(location.search).getAll('arg');
  const { MarketsClient } = await import('/client.js');
  const client = new MarketsClient({ baseUrl, apiKey });
  window.resets = 0;
  const page = () => client.byFixture(fixtureId, { take: 1 });
  window.told = [(await page()).meta.itemCount, (await page()).meta.itemCount].join();
  const watch = client.watch({ fixtureId });
  const show = () => {
    const prices = [...watch.markets({ fixtureId }).values()].map(({ runners }) => runners[0].price);
    document.body.textContent = watch.status + ' ' + prices.sort().join();
  };
  try {
    for await (const event of watch) {
      if (event.reset) window.resets += 1;
      show();
    }
  } catch (failure) {
    document.body.textContent = failure.name + ' ' + failure.code;
  }`;

let packed: PackedClient;
let pages: Server;
let service: TestApp;
let line: Line;
let browser: Browser;
let page: Page;

(executablePath ? describe : describe.skip)('the packed client in Chromium', () => {
  beforeAll(async () => {
    packed = await PackedClient.install();
    const dist = join(packed.folder, 'node_modules/markets-odds-client/dist');
    pages = createServer(({ url = '/' }, response) => {
      const name = basename(new URL(url, 'http://localhost').pathname);
      const html = `<body></body><script type="module">${PROGRAM}</script>`;
      response.setHeader('Content-Type', name.endsWith('.js') ? 'text/javascript' : 'text/html');
      void (name.endsWith('.js') ? readFile(join(dist, name), 'utf8') : Promise.resolve(html))
        .catch(() => '')
        .then((text) => response.end(text));
    }).listen(0, '127.0.0.1');
    await once(pages, 'listening');
    service = await createTestApp({ corsOrigins: [origin()] });
    line = await new Line(service.port).listen();
    browser = await chromium.launch({ executablePath });
    page = await browser.newPage();
  }, 60_000);

  afterAll(async () => {
    await browser?.close();
    line?.close();
    pages?.closeAllConnections();
    pages?.close();
    await service?.close();
    await packed?.remove();
  });

  it('follows a fixture from a page of another origin, over a cut, until its key is revoked', async () => {
    const fixtureId = randomUUID();
    const { connection } = service.database;
    const markets = connection.collection('markets');
    await store(connection, aMarket({ fixtureId, runners: [aRunner({ price: 2 })] }));
    const keys = service.keys;
    const { id, key } = await keys.create({ name: 'page', rateLimit: 0 });
    const args = [line.url, key, fixtureId].map((arg) => `arg=${encodeURIComponent(arg)}`);
    await page.goto(`${origin()}/?${args.join('&')}`);
    await shows('current 2');

    await markets.updateOne({ fixtureId }, { $set: { 'runners.0.price': 3 } });
    await shows('current 3');
    line.cut();
    await markets.updateOne({ fixtureId }, { $set: { 'runners.0.price': 4 } });
    await shows('current 4');
    expect(await page.evaluate('[told, resets]')).toEqual(['1,1', 1]);

    await keys.revoke(id);
    await shows('MarketsProblem unauthorized');
  });
});

function origin(): string {
  return `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
}

async function shows(text: string): Promise<void> {
  await page.getByText(text, { exact: true }).waitFor({ timeout: 10_000 });
}
