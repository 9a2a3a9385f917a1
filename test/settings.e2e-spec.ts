import { expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { Config, loadConfig, settings } from '../src/config.js';
import { readCommitted } from './committed.js';
import { ServerProcess } from './server-process.js';

interface Documented {
  readonly variable: string;
  /** Empty where the setting is unset. */
  readonly value: string;
  readonly comment: string;
}

/** Its default depends on where the service runs. */
const WITHOUT_FIXED_DEFAULT = 'LOG_FORMAT';

it('.env.example has every setting with its comment and default', async () => {
  const parts = (await readConfig()).map(
    ({ variable, value, comment }) => `# ${comment}\n${variable}=${value}\n`,
  );
  const head =
    '# Every setting with its default; an empty one is unset. Copy this file to .env to change them.\n';

  const current = [head, ...parts].join('\n');
  expect(await readCommitted('.env.example', current)).toBe(current);
});

it("README's table has every setting with its comment and default", async () => {
  const readme = await readFile('README.md', 'utf8');
  const rows = [...readme.matchAll(/^\| `([A-Z][A-Z_]+)` +\| (.*?) +\| (.*?) +\|$/gm)].map(
    ([, variable = '', value = '', comment = '']) => ({ variable, value, comment }),
  );

  expect(rows.filter(isFixed)).toEqual(
    (await readConfig())
      .filter(isFixed)
      .map((setting) => ({ ...setting, value: setting.value && `\`${setting.value}\`` })),
  );
  expect(rows.map(({ variable }) => variable)).toContain(WITHOUT_FIXED_DEFAULT);
});

it('the guide for operators says of each setting when to touch it', async () => {
  const guide = await readFile('docs/operations.md', 'utf8');
  const rows = [...guide.matchAll(/^\| ((?:`[A-Z][A-Z_]+`(?:, )?)+) +\|/gm)].map(
    ([, names = '']) => names,
  );
  const named = rows.flatMap((names) => [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name));
  expect(named).toEqual(settings.map(({ variable }) => variable));
});

it('defaults are values that the settings may be given', async () => {
  const defaults = (await readConfig()).map(({ variable, value }) => [variable, value]);

  expect(loadConfig(Object.fromEntries(defaults))).toEqual(new Config());
});

it('a setting whose comment says what 0 is can be 0', async () => {
  const zeros = (await readConfig()).filter(({ comment }) => /\b0(?:: | lets )/.test(comment));
  const env = Object.fromEntries(zeros.map(({ variable }) => [variable, '0']));
  expect(Object.keys(env)).toEqual(expect.arrayContaining(['CACHE_MAX_MB', 'STREAMS_MAX']));
  const config = Object.values<unknown>({ ...loadConfig(env) });
  expect(config.filter((value) => value === 0)).toHaveLength(zeros.length);
  // Every watch would be refused.
  expect(() => loadConfig({ WATCH_MAX_MB: '0' })).toThrow('WATCH_MAX_MB must be');
});

it.each(['fatal', 'error', 'warn', 'info', 'debug', 'trace'])('LOG_LEVEL can be %s', (level) => {
  expect(loadConfig({ LOG_LEVEL: level })).toMatchObject({ logLevel: level });
});

it('the log is pretty where it is read on a terminal, which is no matter of stderr', () => {
  const { stdout, stderr } = process;
  const before = [stdout.isTTY, stderr.isTTY] as const;
  try {
    for (const onTerminal of [true, false]) {
      [stdout.isTTY, stderr.isTTY] = [onTerminal, !onTerminal];
      expect(loadConfig({}).logFormat).toBe(onTerminal ? 'pretty' : 'json');
    }
  } finally {
    [stdout.isTTY, stderr.isTTY] = before;
  }
});

it('in production a database has to be named: the embedded MongoDB is none for that', () => {
  for (const MONGODB_URI of [undefined, '']) {
    const env = { NODE_ENV: 'production', MONGODB_URI };
    expect(() => loadConfig(env)).toThrow('MONGODB_URI must be set');
  }
  expect(loadConfig({ NODE_ENV: 'test' }).mongodbUri).toBeUndefined();
  const mongodbUri = 'mongodb://127.0.0.1/odds';
  expect(loadConfig({ NODE_ENV: 'production', MONGODB_URI: mongodbUri })).toMatchObject({
    mongodbUri,
  });
});

it('all origins are allowed alone, or some by their names', () => {
  expect(loadConfig({ CORS_ORIGINS: '*' }).corsOrigins).toEqual(['*']);
  const two = ['https://a.example', 'https://b.example'];
  expect(loadConfig({ CORS_ORIGINS: two.join(', ') }).corsOrigins).toEqual(two);
  for (const text of ['*,https://example.com', 'https://*.example.com']) {
    expect(() => loadConfig({ CORS_ORIGINS: text })).toThrow('CORS_ORIGINS must');
  }
});

it.each(['a.b', 'a%20b', 'a$b', 'ä'.repeat(32), 'admin', 'config', 'local'])(
  'a database can not be named %s',
  (name) => {
    expect(() => loadConfig({ MONGODB_URI: `mongodb://127.0.0.1/${name}` })).toThrow(
      'MONGODB_URI must name a database',
    );
  },
);

it('a database can have a name of 63 bytes', () => {
  const mongodbUri = `mongodb://127.0.0.1/${'d'.repeat(63)}`;
  expect(loadConfig({ MONGODB_URI: mongodbUri })).toMatchObject({ mongodbUri });
});

it.each([
  'mongodb://a/odds\n',
  ' mongodb://a/odds',
  'mongodb://a/odds#2',
  'mongodb://a/?appName=my odds',
])('a connection string has neither white space nor a #: %j', (uri) => {
  expect(() => loadConfig({ MONGODB_URI: uri })).toThrow(
    'Bad settings:\n  MONGODB_URI must have no line break, no space and no #',
  );
});

it('writes must be acknowledged', () => {
  const uri = 'mongodb://127.0.0.1/odds';
  expect(loadConfig({ MONGODB_URI: `${uri}?w=1` })).toHaveProperty('mongodbUri');
  expect(() => loadConfig({ MONGODB_URI: `${uri}?w=0` })).toThrow('MONGODB_URI must not have w=0');
});

it('maxStalenessSeconds is not below what MongoDB takes', () => {
  const uri = 'mongodb://127.0.0.1/odds?maxStalenessSeconds=';
  expect(loadConfig({ MONGODB_URI: `${uri}90` })).toHaveProperty('mongodbUri');
  for (const options of ['89', '1&readPreference=secondary', '11&readPreference=nearest']) {
    expect(() => loadConfig({ MONGODB_URI: uri + options })).toThrow(
      'MONGODB_URI must not have maxStalenessSeconds below 90',
    );
  }
});

it.each(['tlsCAFile', 'tlsCRLFile', 'tlsCertificateKeyFile'])('%s must be there', (option) => {
  const uriWith = (path: string) => `mongodb://127.0.0.1/odds?tls=true&${option}=${path}`;
  expect(loadConfig({ MONGODB_URI: uriWith('package.json') })).toHaveProperty('mongodbUri');
  for (const path of ['nowhere.pem', 'src']) {
    expect(() => loadConfig({ MONGODB_URI: uriWith(path) })).toThrow(
      new Error('Bad settings:\n  MONGODB_URI must name TLS files that can be read'),
    );
  }
});

it.each(['a b', '300.1.1.1', '[::1]', 'http://host', '-host', 'host:80'])(
  'HOST is not %s',
  (host) => {
    expect(() => loadConfig({ HOST: host })).toThrow(
      new Error('Bad settings:\n  HOST must be an IP address or the name of a host'),
    );
  },
);

it('a port can be the last there is, and none beyond it', () => {
  expect(loadConfig({ ADMIN_PORT: '65535' })).toMatchObject({ adminPort: 65_535 });
  expect(() => loadConfig({ ADMIN_PORT: '65536' })).toThrow('ADMIN_PORT must be a whole number');
});

it.each(['127.0.0.1', '::', 'fe80::1%eth0', 'localhost', 'odds_1.example.com', 'a1'])(
  'HOST can be %s',
  (host) => {
    expect(loadConfig({ HOST: host })).toMatchObject({ host });
  },
);

it.each(['redis://host', 'rediss://:secret@host:6380/', 'redis://host/15?family=6'])(
  'REDIS_URL can be %s',
  (redisUrl) => {
    expect(loadConfig({ REDIS_URL: redisUrl })).toMatchObject({ redisUrl });
  },
);

it.each([
  'host:6379',
  'http://host',
  'redis://',
  'redis://host/odds',
  'redis://host/0/1',
  'redis://:100%@host',
  'redis://%FF:secret@host',
  'redis://host?sentinels=x',
  'redis://host?family=6&db=1',
])('REDIS_URL is not %s', (url) => {
  expect(() => loadConfig({ REDIS_URL: url })).toThrow('REDIS_URL must be a Redis URL');
});

it.each([' redis://host', 'redis://host\n', 'redis://host#1'])('REDIS_URL is not %j', (url) => {
  expect(() => loadConfig({ REDIS_URL: url })).toThrow('REDIS_URL must have no line break');
});

it.each([
  ['127.0.0.1/odds?compressors=zlib,snappy', 'snappy'],
  ['127.0.0.1/odds?proxyHost=127.0.0.1', 'socks'],
  ['127.0.0.1/odds?authMechanism=MONGODB-AWS', '@aws-sdk/credential-providers'],
  ['punter@127.0.0.1/odds?authMechanism=GSSAPI&authSource=$external', 'kerberos'],
])('a connection string to %s needs a package', (rest, name) => {
  expect(() => loadConfig({ MONGODB_URI: `mongodb://${rest}` })).toThrow(
    `MONGODB_URI must not have options that need what is not installed: ${name}`,
  );
});

it('a connection string can ask for what Node.js compresses by itself', () => {
  const mongodbUri = 'mongodb://127.0.0.1/odds?compressors=zlib';
  expect(loadConfig({ MONGODB_URI: mongodbUri })).toMatchObject({ mongodbUri });
});

it.each([
  ['a host without a name', 'mongodb://punter:s3cret@host,,other/odds'],
  ['a slash in the password', 'mongodb://punter:s3/cret@host/odds'],
  ['an option that there is not', 'mongodb://punter:secret@host/odds?s3=cret'],
  ['another scheme', 'odds://punter:s3cret@host'],
])('a bad connection string is refused without a word of it: %s', (_what, uri) => {
  const rule =
    'must be a MongoDB connection string (mongodb://… or mongodb+srv://…) with options that the driver knows; ' +
    'in a password % @ : / are %25 %40 %3A %2F';
  expect(() => loadConfig({ MONGODB_URI: uri })).toThrow(
    new Error(`Bad settings:\n  MONGODB_URI ${rule}`),
  );
});

it('a server says what is wrong with its settings on stderr, where no log is read, and fails', async () => {
  const server = ServerProcess.spawn({ PORT: 'x' });
  expect(await server.exited).toBe(1);
  expect(server.stdout).toEqual([]);
  expect(server.stderr).toEqual(['Bad settings:', '  PORT must be a whole number from 0 to 65535']);
});

/** The settings in the order of their declaration, with their comments. */
async function readConfig(): Promise<Documented[]> {
  const source = await readFile('src/config.ts', 'utf8');
  const config = new Config();
  return settings.map(({ variable, property }) => {
    const pattern = new RegExp(`/\\*\\* (.+) \\*/\\s+@Env\\('${variable}'`);
    const value = isFixed({ variable }) ? (config[property as keyof Config] ?? '') : '';
    const comment = pattern.exec(source)?.[1];
    if (!comment) throw new Error(`${variable} has no comment of one line`);
    return { variable, value: String(value), comment };
  });
}

function isFixed({ variable }: Pick<Documented, 'variable'>): boolean {
  return variable !== WITHOUT_FIXED_DEFAULT;
}
