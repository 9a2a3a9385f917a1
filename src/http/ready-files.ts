import type { Express, Request, Response } from 'express';
import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';

/** The files that the page loads; source maps and the like are not served. */
const SERVED = /^(?:swagger-ui(?:-bundle|-standalone-preset)?\.(?:js|css)|favicon-.*\.png)$/;

/** A route for each file of the page, read once at the start. */
export function readyFiles(app: Express, directory: string, prefix: string): void {
  for (const name of readdirSync(directory).filter((each) => SERVED.test(each))) {
    readyFile(app, `${prefix}/${name}`, name, readFileSync(join(directory, name)));
  }
}

/** A route whose answer never changes. The file's name tells its type. */
export function readyFile(app: Express, path: string, name: string, body: Buffer): void {
  const headers = {
    'Cache-Control': 'public, max-age=0',
    ETag: `"${hash('sha1', body, 'base64url')}"`,
  };
  app.get(path, (_request: Request, response: Response) => {
    response.set(headers).type(extname(name)).send(body);
  });
}
