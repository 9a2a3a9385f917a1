import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestApp, type TestApp } from './app.js';
import { LOOKUPS } from './lookups.js';
import { testDatabaseUri } from './mongo.js';
import { sendRaw } from './raw-http.js';
import { startServer } from './server-process.js';

const ID_PART = 'mos_123456789012_'.length;
const SECRET_LENGTH = 32;

/** So long a piece of a secret is not found by chance, nor is it fit to guess the rest. */
const PIECE = 8;

const PATH = `${LOOKUPS[0].route}/canary`;

let service: TestApp;
let canary: string;
let received: string;

beforeAll(async () => {
  service = await createTestApp({ authFailuresPerMinute: 0 });
  ({ key: canary } = await service.keys.create({ name: 'canary' }));
  received = (await Promise.all(requests().map(send))).join('\n');
});

afterAll(async () => {
  await service.close();
});

it('sends the canary in many a way, and it is alive', () => {
  expect(requests().length).toBeGreaterThan(90);
  for (const status of [200, 304, 400, 401, 404, 405, 417, 431]) {
    expect(received).toContain(`HTTP/1.1 ${status} `);
  }
});

describe('the key and its secret are found nowhere:', () => {
  it('not in any answer', () => {
    expect(findings(received)).toEqual([]);
  });

  it('not in any line of the log, at any level', () => {
    const log = service.logged.join('');
    expect(log.split('\n').length).toBeGreaterThan(requests().length / 2);
    expect(findings(log)).toEqual([]);
  });

  it.each(['/metrics', '/openapi.json', '/docs', '/docs/swagger-ui-init.js', '/health/ready'])(
    'not at %s',
    async (path) => {
      const { text } = await service.getOpen(path);
      expect(findings(text)).toEqual([]);
    },
  );

  it('not in what libraries write for developers, whatever DEBUG says', async () => {
    const server = await startServer({ MONGODB_URI: testDatabaseUri(), DEBUG: '*' });
    try {
      await fetch(`${server.url}${PATH}?api_key=${canary}`);
    } finally {
      await server.stop('SIGTERM');
    }
    expect(findings([...server.stdout, ...server.stderr].join('\n'))).toEqual([]);
  });

  it("not in the process's title and arguments", () => {
    expect(findings([process.title, ...process.argv, ...process.execArgv].join(' '))).toEqual([]);
  });

  it('not in the database, but for its hash', async () => {
    const keys = await service.database.connection.collection('api_keys').find().toArray();
    expect(JSON.stringify(keys)).toContain(canary.slice(4, 16));
    expect(findings(JSON.stringify(keys))).toEqual([]);
  });
});

it.each([
  ['whole', (key: string) => key],
  ['in capitals', (key: string) => key.toUpperCase()],
  ['its secret', (key: string) => secretOf(key)],
  ['a piece of its secret', (key: string) => secretOf(key).slice(11, 20)],
  ['percent-encoded', percentEncoded],
  ['in base64', (key: string) => base64(`x${key}`)],
  ['its secret in base64url', (key: string) => Buffer.from(secretOf(key)).toString('base64url')],
  ['in hex', (key: string) => Buffer.from(secretOf(key)).toString('hex')],
])('would be found %s', (_, form) => {
  expect(findings(`… ${form(canary)} …`)).not.toEqual([]);
});

/** Which forms of the canary are in a text. */
function findings(text: string): string[] {
  const haystack = text.toLowerCase();
  return [...needles()]
    .filter(([, needle]) => haystack.includes(needle.toLowerCase()))
    .map(([form]) => form);
}

function* needles(): Generator<[form: string, needle: string]> {
  const secret = secretOf(canary);
  yield ['whole', canary];
  for (let start = 0; start + PIECE <= secret.length; start += 1) {
    yield [`secret from ${start}`, secret.slice(start, start + PIECE)];
  }
  yield ['percent-encoded', percentEncoded(secret)];
  yield ['hex', Buffer.from(secret).toString('hex')];
  // Base64 looks different depending on where a text starts within three bytes.
  for (const shift of [0, 1, 2]) {
    const encoded = base64('x'.repeat(shift) + secret);
    yield [`base64, shifted by ${shift}`, encoded.slice(4, 4 + 2 * PIECE)];
  }
}

function secretOf(key: string): string {
  return key.slice(ID_PART, ID_PART + SECRET_LENGTH);
}

function percentEncoded(text: string): string {
  return Buffer.from(text)
    .toString('hex')
    .replaceAll(/../g, (byte) => `%${byte}`);
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** Requests in which the canary is where it belongs, and where it does not. */
function requests(): string[] {
  const forms = [
    canary,
    secretOf(canary),
    canary.slice(ID_PART),
    secretOf(canary).slice(3, 29),
    percentEncoded(canary),
    encodeURIComponent(percentEncoded(canary)),
    base64(canary),
    base64(secretOf(canary)),
    Buffer.from(`canary:${canary}`).toString('base64url'),
  ];
  return [
    ...forms.flatMap((form) => asCredential(form)),
    ...forms.flatMap((form) => besideAGoodKey(form)),
    ...[canary, secretOf(canary)].flatMap((form) => asMalformed(form)),
  ];
}

function get(target: string, ...headers: string[]): string {
  return [`GET ${target} HTTP/1.1`, 'Host: a', 'Connection: close', ...headers, '', ''].join(
    '\r\n',
  );
}

function asCredential(form: string): string[] {
  const header = `X-API-Key: ${form}`;
  return [
    get(PATH, header),
    get(PATH, header, 'If-None-Match: *'),
    get(PATH, header, header),
    get(`${PATH}?api_key=${form}`),
    get(`${PATH}?api_key=${form}`, header),
    get(`${PATH}?api_key=${form}&api_key=${form}`),
    get(`${PATH}?api_key=${form}&page=%zz`),
    get(`${PATH}?page=0&api_key=${form}&nope=1`),
    get(`${PATH}?api_key=${form}%`),
    get(`${PATH}?API_KEY=${form}`),
    get(`${PATH}?api_key[]=${form}`),
    get(`http://a${PATH}?api_key=${form}`),
    get(`/nope?api_key=${form}`),
    get(`/health/live?api_key=${form}`, header),
    get(`/docs/?api_key=${form}`, header),
    get(PATH, `Authorization: Bearer ${form}`),
    get(PATH, `Authorization: Basic ${base64(`${form}:`)}`),
    get(PATH, header, `X-Request-Id: ${form}`),
    get(`${PATH}?${form}=1`, header),
    get(`${PATH}?x[${form}]=1`, header),
    get(PATH, header).replace('GET', 'POST'),
    get(PATH, header).replace('GET', 'HEAD'),
    get(PATH, header, 'Expect: x'),
  ];
}

function besideAGoodKey(form: string): string[] {
  const good = `X-API-Key: ${service.key}`;
  return [
    get(`${LOOKUPS[0].route}/${form}`, good),
    get(`${LOOKUPS[0].route}/${form}%00`, good),
    get(`${LOOKUPS[0].route}/${form}`),
    get(`/${form}`),
    get(`/docs/${form}`),
    get(`${PATH}/${form}`, good),
    get(`${PATH}?marketType=${form}`, good),
    get(`${PATH}?page=${form}`, good),
    get(`${PATH}?${form}`, good),
    get(`${PATH}?${form}=1`, good),
    get(`${PATH}?a=1&a[${form}]=1`, good),
    get(`${PATH}?page=%zz&${form}=1`, good),
    get(PATH, good, `X-Request-Id: ${form}`),
    get(PATH, good, `X-Request-Id: req-${form}`),
    get(PATH, good, `Referer: http://a/?api_key=${form}`),
    get(PATH, good, `User-Agent: curl/${form}`),
    get(PATH, good, `Cookie: key=${form}`),
    get(PATH, good, `Origin: http://${form}.example`),
    get(PATH, good, `X-Forwarded-For: ${form}`),
    get(PATH, good, `traceparent: 00-${form}-01`),
    get(PATH, good, `If-None-Match: "${form}"`),
    get(PATH, good, `Accept-Encoding: ${form}`),
    get(PATH, good, `${form.replaceAll(/[^\w-]/g, '')}: 1`),
  ];
}

function asMalformed(form: string): string[] {
  return [
    get(PATH).replace('GET', form),
    get(PATH).replace('HTTP/1.1', form),
    get(`${PATH} ${form}`),
    get(`${PATH}?api_key=${form}#`),
    get(`${PATH}?api_key=${form}\0`),
    get(`${PATH}?api_key=${form}&x=${'a'.repeat(20_000)}`),
    get(PATH, `X-API-Key: ${form}\0`),
    get(PATH, `X-API-Key ${form}`),
    get(PATH, `X-API-Key: ${form}`, 'Content-Length: 1', 'Transfer-Encoding: chunked'),
    get(PATH, `Transfer-Encoding: ${form}`),
    get(PATH, `X-API-Key: ${form}`, 'Host: b'),
    get(PATH).replace('Host: a', `Host: ${form}@a`),
    get(PATH).replace('Host: a', `Host: ${form}`),
    `GET ${PATH}?api_key=${form}\r\n\r\n`,
    `CONNECT ${form}:443 HTTP/1.1\r\nHost: a\r\n\r\n`,
    `${form}\r\n\r\n`,
  ];
}

/** Everything that comes back, as text. */
async function send(bytes: string): Promise<string> {
  const answers = await sendRaw(service.port, bytes, { bodiless: bytes.startsWith('HEAD') });
  return answers.map(({ head, body }) => `${head}\n\n${body}`).join('\n');
}
