import type { Express, Request, Response } from 'express';
import { hash } from 'node:crypto';
import { extname } from 'node:path';

/** Makes a route of a file. Its name tells its type. */
export function serveStaticFile(app: Express, path: string, name: string, body: Buffer): void {
  const headers = {
    'Cache-Control': 'public, max-age=0',
    ETag: `"${hash('sha1', body, 'base64url')}"`,
  };
  app.get(path, (_request: Request, response: Response) => {
    response.set(headers).type(extname(name)).send(body);
  });
}
