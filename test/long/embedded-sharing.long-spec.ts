import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { mkdir, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openEmbedded } from '../../src/embedded-mongod/embedded.js';
import { freePort } from '../../src/embedded-mongod/free-port.js';
import { MongodProcess } from '../../src/embedded-mongod/mongod-process.js';
import { isRunning, readOwner, type Owner } from '../../src/embedded-mongod/owner.js';
import { markBuilt } from '../mark-built.js';
import {
  addOne,
  expectEnd,
  folder,
  foreignMongod,
  interrupt,
  isAlive,
  listKeys,
  mongodPid,
  npmStart,
  ownDataPaths,
  User,
} from '../embedded-processes.js';
import { ServerProcess } from '../server-process.js';
import { until } from '../until.js';

ownDataPaths();

describe('the embedded MongoDB', () => {
  it('is the same by whatever link its data path is named', async () => {
    const link = `${folder} link`;
    await symlink(folder, link);
    try {
      const uri = await new User('the server').uri;
      expect(await new User('a command', link, 1_000).uri).toBe(uri);
    } finally {
      await rm(link);
    }
  });

  it('is opened by all who start at once', async () => {
    const server = new User('the server');
    const others = [new User('the server'), new User('a command')];
    const first = await Promise.race([server, ...others].map(({ uri }) => uri));
    expect(await addOne(first)).toBe(1);
    // Whoever is last waits until a command that was first has ended.
    const command = others[1];
    if (command) await command.uri.then(() => interrupt(command));
    for (const { uri } of [server, ...others]) expect(await uri).toBe(first);
  });

  it('finds its folder, though another makes that in the same moment', async () => {
    const starts = jest.spyOn(MongodProcess, 'start').mockRejectedValue(new Error('enough'));
    const options = { path: join(folder, 'new', 'db'), name: 'a command', shared: false };
    const open = () => openEmbedded(options, () => undefined).catch(String);
    const failures = await Promise.all([open(), open()]);
    starts.mockRestore();
    for (const failure of failures) expect(failure).toContain('enough');
  });

  it('is tried again by who finds its port taken: another has started in the same moment', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const start = MongodProcess.start.bind(MongodProcess);
    const starts = jest.spyOn(MongodProcess, 'start');
    starts.mockImplementationOnce((options) => start({ ...options, port }));
    try {
      const options = { path: folder, name: 'a command', shared: false };
      const said: string[] = [];
      await (await openEmbedded(options, (line) => said.push(line))).close();
      expect(starts).toHaveBeenCalledTimes(2);
      expect(said).toEqual([]);
    } finally {
      jest.restoreAllMocks();
      other.close();
    }
  });

  it('has the port of last time, so that connection strings stay true', async () => {
    const port = await freePort();
    await writeFile(join(folder, 'embedded.json'), JSON.stringify({ port }));
    const starts = jest.spyOn(MongodProcess, 'start').mockRejectedValue(new Error('enough'));
    const options = { path: folder, name: 'a command', shared: false };
    await openEmbedded(options, () => undefined).catch(() => undefined);
    const asked = starts.mock.calls;
    starts.mockRestore();
    expect(asked).toMatchObject([[{ port }]]);
  });

  it('that ends by itself is told of', async () => {
    const said: string[] = [];
    const options = { path: folder, name: 'a command', shared: false };
    const embedded = await openEmbedded(options, (line) => said.push(line));
    process.kill(await mongodPid(), 'SIGKILL');
    await until(() => said.length > 0);
    await embedded.close();
    expect(said).toEqual(['The embedded MongoDB has ended: please start again']);
  });

  it('that ends before it is ready is not waited for', async () => {
    const start = MongodProcess.start.bind(MongodProcess);
    const starts = jest.spyOn(MongodProcess, 'start');
    starts.mockImplementationOnce(async (options) => {
      const mongod = await start(options);
      await mongod.kill();
      return mongod;
    });
    const options = { path: folder, name: 'a command', shared: false };
    await expect(openEmbedded(options, () => undefined)).rejects.toThrow(
      'mongod has ended before it was ready',
    );
    jest.restoreAllMocks();
  });

  it('is not opened by a command that was told to end', async () => {
    const signal = AbortSignal.abort(new Error('stopped'));
    const options = { path: folder, name: 'a command', shared: false, signal };
    await expect(openEmbedded(options, () => undefined)).rejects.toThrow(/^stopped$/);
    expect(await mongodPid()).toBe(0);
  });

  it('is waited for as long as a command has it, and then until its mongod is gone', async () => {
    const command = new User('a command');
    await command.uri;
    const [port, silentMongodMs] = [await freePort(), 60_000];
    const starts = jest.spyOn(MongodProcess, 'start');
    const now = performance.now.bind(performance);
    const options = { path: folder, name: 'another', shared: false, silentMongodMs };
    const opening = openEmbedded(options, () => {
      // So long it was waited for; from now on the mongod does not answer, as one that ends.
      jest.spyOn(performance, 'now').mockImplementation(() => now() + silentMongodMs);
      writeFileSync(join(folder, 'embedded.json'), JSON.stringify({ port }));
    });
    try {
      const isTriedAgain = until(() => starts.mock.calls.length > 1, 2 * silentMongodMs);
      await Promise.race([opening, isTriedAgain]);
      await interrupt(command);
      await (await opening).close();
    } finally {
      jest.restoreAllMocks();
    }
  });

  it('is waited for until one is told to end, which is said once', async () => {
    const command = new User('a command');
    await command.uri;
    const [said, ending] = [[] as string[], new AbortController()];
    const { signal } = ending;
    const options = { path: folder, name: 'another', shared: false, signal };
    const opening = openEmbedded(options, (line) => said.push(line));
    await until(() => said.length > 0);
    // It looks about three times a second.
    await delay(700);
    ending.abort(new Error('stopped'));
    await expect(opening).rejects.toThrow(/^stopped$/);
    const { pid } = command.process;
    expect(said).toEqual([
      `Waiting for a command (process ${pid}) to end: it is using ${await realpath(folder)}`,
    ]);
    await interrupt(command);
  });

  it('is ended again when nobody could find it', async () => {
    // Where its port would be noted.
    await mkdir(join(folder, 'embedded.json'));
    const options = { path: folder, name: 'a command', shared: false };
    await expect(openEmbedded(options, () => undefined)).rejects.toThrow('EISDIR');
    expect(await mongodPid()).toBe(0);
  });

  it('is ended well by a server that can not listen', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as AddressInfo;
    try {
      const env = { EMBEDDED_DB_PATH: folder, PORT: String(port) };
      expect(await ServerProcess.spawn(env).exited).toBe(1);
      // A mongod that is killed can't empty the file.
      expect(await readFile(join(folder, 'mongod.lock'), 'utf8')).toBe('');
    } finally {
      holder.close();
    }
  });

  it('says why it can not run', async () => {
    const file = join(folder, 'a file');
    await writeFile(file, '');
    await expect(new User('the server', file).uri).rejects.toThrow(
      `The embedded MongoDB in ${file} (EMBEDDED_DB_PATH) can't run: ENOTDIR`,
    );
    // Without /proc it is the root folder that refuses.
    await expect(new User('the server', '/proc/nope').uri).rejects.toThrow("can't run: E");
  });
});

describe('a data path that somebody else uses', () => {
  it('stays as it is, while its mongod runs and later', async () => {
    const mongod = await foreignMongod();
    for (const name of ['the server', 'a command'] as const) {
      await expect(new User(name).uri).rejects.toThrow('another mongod is using this data path');
    }
    expect(isAlive(mongod.pid)).toBe(true);
    expect(await readdir(folder)).not.toContain('embedded.json');

    await mongod.stop();
    await expect(new User('the server').uri).rejects.toThrow('holds the data of another MongoDB');

    // As a backup may leave it.
    await rm(join(folder, 'mongod.lock'));
    await expect(new User('the server').uri).rejects.toThrow('holds the data of another MongoDB');
  });

  it('is not what an owner means whose port another project has taken since', async () => {
    await new User('the server').uri;
    const owner = (await readOwner(folder)) as Owner;
    await until(() => isRunning(owner, folder));
    expect(await isRunning(owner, `${folder} of another project`)).toBe(false);
  });

  it('is not what an owner means whose port has a program that is no mongod', async () => {
    const program = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    await once(program, 'listening');
    const { port } = program.address() as AddressInfo;
    const owner = { pid: process.pid, name: 'the server', port, shared: true };
    const began = performance.now();
    expect(await isRunning(owner, folder)).toBe(false);
    // Meant are 2 s; a busy machine gets more, but not the driver's own 30.
    expect(performance.now() - began).toBeLessThan(20_000);
    program.close();
  });
});

describe('npm start and npm run cli', () => {
  beforeEach(async () => {
    await markBuilt();
  });

  it('keys are listed beside the server and alone; SIGTERM to all of npm ends all that was started', async () => {
    const { npm, demo } = await npmStart();
    const odds = await demo();
    const beside = await listKeys();
    // With DEMO_FEED=false its prices stay.
    expect(await demo()).toEqual(odds);
    expect(beside).toMatch(/demo/i);
    await expectEnd(npm, () => process.kill(-Number(npm.pid), 'SIGTERM'));
    expect(await listKeys()).toBe(beside);
    expect(await mongodPid()).toBe(0);
    // Others would have waited for it by this name.
    expect(await readOwner(folder)).toMatchObject({ name: 'keys list', shared: false });
  });
});
