import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Express, Request, Response } from 'express';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { DEMO_KEY } from '../api-keys/demo-key.js';

const PAGE = 'live.html';
const FILES = [PAGE, 'live.js', 'live-board.js', 'live-stream.js', 'live.css'];
const DEMO_FIXTURES = 'demo-fixture-1\ndemo-fixture-2';

/** /docs/live and what it loads, read once at the start. The demo's key and ids are filled in where they are good. */
export function setUpLivePage(app: NestExpressApplication, isEmbedded: boolean): void {
  const express: Express = app.getHttpAdapter().getInstance();
  for (const name of FILES) {
    const text = readFileSync(new URL(`./live/${name}`, import.meta.url), 'utf8');
    const body = text
      .replace('{{key}}', isEmbedded ? DEMO_KEY : '')
      .replace('{{fixtures}}', isEmbedded ? DEMO_FIXTURES : '');
    const headers = {
      'Cache-Control': 'no-cache',
      ETag: `"${createHash('sha1').update(body).digest('base64url')}"`,
    };
    const path = name === PAGE ? '/docs/live' : `/docs/${name}`;
    express.get(path, (_request: Request, response: Response) => {
      response.set(headers).type(extname(name)).send(body);
    });
  }
}
