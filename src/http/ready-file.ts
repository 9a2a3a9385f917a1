import type { Express, Request, Response } from 'express';
import { hash } from 'node:crypto';
import { extname } from 'node:path';

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
