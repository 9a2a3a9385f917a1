import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../src/embedded-mongod/free-port.js';
import { ConfigError, loadConfig } from '../src/config.js';
import { testDatabaseUri } from './mongo.js';
import { sendRaw } from './raw-http.js';
import { startProcess, type ServerProcess } from './services.js';
import { until } from './until.js';

const PROBES = ['/health/live', '/health/ready', '/metrics'];
const OTHERS = ['/v1/markets/market/fixture/x', '/docs', '/docs/', '/openapi.json', '/health/x'];

let service: ServerProcess;
let adminPort: number;

beforeAll(async () => {
  adminPort = await freePort();
  service = await startProcess(testDatabaseUri(), { env: { ADMIN_PORT: String(adminPort) } });
});

afterAll(() => service.stop());

async function ask(port: number, path: string, method = 'GET') {
  const headers = { 'X-API-Key': service.key };
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers });
  const text = await answer.text();
  const isProblem = answer.headers.get('content-type') === 'application/problem+json';
  return { status: answer.status, code: isProblem ? JSON.parse(text).code : undefined };
}

const NOT_FOUND = { status: 404, code: 'not_found' };

describe('With ADMIN_PORT', () => {
  it.each(PROBES)('%s is there and nowhere else', async (path) => {
    expect(await ask(adminPort, path)).toEqual({ status: 200, code: undefined });
    expect(await ask(adminPort, `${path}?x=1`)).toEqual({ status: 200, code: undefined });
    expect(await ask(service.port, path)).toEqual(NOT_FOUND);
    expect(await ask(service.port, path, 'DELETE')).toEqual(NOT_FOUND);
    expect((await ask(adminPort, path, 'DELETE')).status).toBe(405);
  });

  it.each(['http://x/metrics', '/metrics#x', 'http://x/health/ready', '/health\\ready#'])(
    '%s is no way to what is there',
    async (target) => {
      const [answer] = await sendRaw(service.port, `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`);
      expect(answer?.status).toBe(404);
    },
  );

  it.each(OTHERS)('%s is not there', async (path) => {
    expect(await ask(adminPort, path)).toEqual(NOT_FOUND);
    expect(await ask(adminPort, path, 'POST')).toEqual(NOT_FOUND);
  });

  it('is at no other address than HOST, as PORT is not', async () => {
    for (const port of [service.port, adminPort]) {
      await expect(fetch(`http://127.0.0.2:${port}/health/live`)).rejects.toThrow('fetch failed');
    }
  });

  it('what callers are answered from memory is not there', async () => {
    const path = '/v1/markets/market/fixture/remembered';
    await until(async () => {
      expect((await ask(service.port, path)).status).toBe(200);
      return service.stdout.some((line) => line.includes('"source":"memory"'));
    });
    expect(await ask(adminPort, path)).toEqual(NOT_FOUND);
  });

  it('callers find what is theirs where it was, and no probes in the document', async () => {
    expect((await ask(service.port, OTHERS[0] ?? '')).status).toBe(200);
    expect((await ask(service.port, '/docs/')).status).toBe(200);
    const document = (await (await fetch(`${service.url}/openapi.json`)).json()) as object;
    const { paths } = document as { paths: object };
    expect(Object.keys(paths).filter((path) => !path.startsWith('/v1/'))).toEqual([]);
  });

  it("the image's health check asks there", async () => {
    const env = { ...process.env, PORT: String(service.port), ADMIN_PORT: String(adminPort) };
    const check = promisify(execFile);
    await check(process.execPath, ['dist/health-check.js', 'live'], { env });
    const elsewhere = check(process.execPath, ['dist/health-check.js'], {
      env: { ...env, HOST: '127.0.0.2' },
    });
    await expect(elsewhere).rejects.toThrow('ECONNREFUSED 127.0.0.2');
    const wrong = { ...env, ADMIN_PORT: '' };
    // Left to itself it asks what says nothing of MongoDB.
    await expect(check(process.execPath, ['dist/health-check.js'], { env: wrong })).rejects.toThrow(
      '/health/live says 404',
    );
  });

  it("the image's health check reads its settings where the server does", async () => {
    const cwd = await mkdtemp(join(tmpdir(), 'markets-odds-health-'));
    try {
      await writeFile(join(cwd, '.env'), `PORT=1\nADMIN_PORT=${adminPort}\n`);
      const env = { ...process.env, PORT: String(service.port), ADMIN_PORT: '' };
      const program = resolve('dist/health-check.js');
      const check = promisify(execFile)(process.execPath, [program, 'live'], { cwd, env });
      expect((await check).stderr).toBe('');
    } finally {
      await rm(cwd, { recursive: true });
    }
  });

  it.each(['0', '65536', '-1', 'x', '3000'])('%s is refused beside PORT=3000', (port) => {
    expect(() => loadConfig({ ADMIN_PORT: port })).toThrow(ConfigError);
    expect(() => loadConfig({ ADMIN_PORT: port })).toThrow(/ADMIN_PORT must be/);
  });
});
