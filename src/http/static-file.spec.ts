import { expect, it } from '@jest/globals';
import express from 'express';
import supertest from 'supertest';
import { serveStaticFile } from './static-file.js';

/** Of the answer to who asks for a file of this content. */
async function headersOf(body: string) {
  const app = express();
  serveStaticFile(app, '/page.css', 'page.css', Buffer.from(body));
  return (await supertest(app).get('/page.css').expect(200)).headers;
}

it('lets no browser show an old file: it asks each time, and another file has another tag', async () => {
  const [first, same, other] = await Promise.all(['a{}', 'a{}', 'b{}'].map(headersOf));
  expect(first?.['cache-control']).toBe('public, max-age=0');
  expect(same?.['etag']).toBe(first?.['etag']);
  expect(other?.['etag']).not.toBe(first?.['etag']);
});
