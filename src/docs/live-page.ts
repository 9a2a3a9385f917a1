import type { NestExpressApplication } from '@nestjs/platform-express';
import { readFileSync } from 'node:fs';
import { DEMO_KEY } from '../api-keys/demo-key.js';
import { serveStaticFile } from '../http/static-file.js';

const PAGE = 'live.html';
const FILES = [PAGE, 'live.js', 'live-board.js', 'live-stream.js', 'live.css'];
const DEMO_FIXTURES = 'demo-fixture-1\ndemo-fixture-2';

/** /docs/live and what it loads. The demo's key and ids are filled in where they are good. */
export function setUpLivePage(app: NestExpressApplication, isEmbedded: boolean): void {
  for (const name of FILES) {
    const text = readFileSync(new URL(`./live/${name}`, import.meta.url), 'utf8')
      .replace('{{key}}', isEmbedded ? DEMO_KEY : '')
      .replace('{{fixtures}}', isEmbedded ? DEMO_FIXTURES : '')
      .replace('{{selected}}', isEmbedded ? 'selected' : '');
    const path = name === PAGE ? '/docs/live' : `/docs/${name}`;
    serveStaticFile(app.getHttpAdapter().getInstance(), path, name, Buffer.from(text));
  }
}
