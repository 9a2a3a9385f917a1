import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MarketCache } from '../src/markets/cache/market-cache.js';
import { createTestApp, type TestApp } from './app.js';
import { until } from './until.js';

const PATH = '/v1/markets/market/fixture/nobody';
const ORIGIN = 'https://odds.example';

async function preflight({ url }: TestApp, path = PATH): Promise<Response> {
  const headers = {
    Origin: ORIGIN,
    'Access-Control-Request-Method': 'GET',
    'Access-Control-Request-Headers': 'X-API-Key',
  };
  return fetch(`${url}${path}`, { method: 'OPTIONS', headers });
}

describe('pages of other origins', () => {
  describe('when their origin is allowed', () => {
    let service: TestApp;
    beforeAll(async () => {
      service = await createTestApp({ corsOrigins: [ORIGIN] });
    });
    afterAll(() => service.close());

    it('may ask, with a key in the header', async () => {
      const answer = await preflight(service);
      expect(answer.status).toBe(204);
      expect(answer.headers.get('access-control-allow-origin')).toBe(ORIGIN);
      expect(answer.headers.get('access-control-allow-methods')).toBe('GET,HEAD');
      expect(answer.headers.get('access-control-allow-headers')).toBe(
        'X-API-Key,X-Request-Id,If-None-Match,Last-Event-ID',
      );
      // Else a browser would ask so before nearly every request.
      expect(answer.headers.get('access-control-max-age')).toBe('600');
      expect(answer.headers.get('x-request-id')).toMatch(/./);
    });

    it('may not ask for a path that there is not', async () => {
      const answer = await preflight(service, '/nothing');
      expect(answer.status).toBe(404);
      expect(await answer.json()).toMatchObject({ code: 'not_found' });
    });

    it('see the answer and its headers', async () => {
      const answer = await service.get(PATH).set('Origin', ORIGIN);
      expect(answer.status).toBe(200);
      expect(answer.headers['access-control-allow-origin']).toBe(ORIGIN);
      expect(answer.headers['access-control-expose-headers']).toBe(
        'ETag,RateLimit,RateLimit-Policy,Retry-After,X-Request-Id',
      );
      expect(answer.headers['vary']).toBe('Origin, X-API-Key, Accept-Encoding');
    });

    it('see answers from memory, too, however often they ask', async () => {
      await until(async () => {
        await service.get(PATH).expect(200);
        return service.app.get(MarketCache).count > 0;
      });
      for (let asked = 0; asked < 3; asked += 1) {
        const { headers } = await service.get(PATH).set('Origin', ORIGIN).expect(200);
        expect(headers['access-control-allow-origin']).toBe(ORIGIN);
        expect(headers['vary']).toBe('Origin, X-API-Key, Accept-Encoding');
      }
    });

    it('but no others', async () => {
      const answer = await service.get(PATH).set('Origin', 'https://elsewhere.example');
      expect(answer.headers['access-control-allow-origin']).not.toBe('https://elsewhere.example');
    });
  });

  it('may ask, whichever they are, where every origin is allowed', async () => {
    const service = await createTestApp({ corsOrigins: ['*'] });
    try {
      const answer = await service.get(PATH).set('Origin', ORIGIN).expect(200);
      expect(answer.headers['access-control-allow-origin']).toBe('*');
      const { status, headers } = await preflight(service);
      expect([status, headers.get('access-control-allow-origin')]).toEqual([204, '*']);
    } finally {
      await service.close();
    }
  });
});
