import { execFile, spawn, type ChildProcessByStdio } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type * as Client from '../clients/typescript/src/client.js';

const execute = promisify(execFile);

/** The client as a user gets it: packed, and installed from the tarball into an empty project. */
export class PackedClient {
  private constructor(
    /** The project's folder. */
    readonly folder: string,
    /** Paths in the package. */
    readonly files: readonly string[],
    readonly exports: typeof Client,
  ) {}

  static async install(): Promise<PackedClient> {
    const folder = await emptyProject();
    const { stdout } = await execute('npm', ['pack', '--json', '--pack-destination', folder], {
      cwd: resolve('clients/typescript'),
    });
    const [{ filename, files }]: [{ filename: string; files: { path: string }[] }] =
      JSON.parse(stdout);
    const quiet = ['--offline', '--no-audit', '--no-fund', '--ignore-scripts'];
    await execute('npm', ['install', ...quiet, `./${filename}`], { cwd: folder });
    return PackedClient.in(folder, files.map(({ path }) => path).toSorted());
  }

  /** As it was built, for tests that are not about the package: quicker. */
  static async link(): Promise<PackedClient> {
    const folder = await emptyProject();
    await mkdir(join(folder, 'node_modules'));
    await symlink(resolve('clients/typescript'), join(folder, 'node_modules/markets-odds-client'));
    return PackedClient.in(folder, []);
  }

  private static async in(folder: string, files: readonly string[]): Promise<PackedClient> {
    const entry = createRequire(join(folder, 'x.js')).resolve('markets-odds-client');
    const exports = (await import(pathToFileURL(entry).href)) as typeof Client;
    return new PackedClient(folder, files, exports);
  }

  /** Runs an example of the client in the project; resolves with what it printed. */
  async runExample(name: string, env: Readonly<Record<string, string>>): Promise<string> {
    const file = join(this.folder, name);
    await writeFile(file, await readFile(resolve('clients/typescript/examples', name)));
    // Jest has its workers write in colours where it does so itself, in a terminal.
    const options = { env: { ...process.env, FORCE_COLOR: '0', ...env } };
    const { stdout } = await execute(process.execPath, [file], options);
    return stdout;
  }

  /** Starts a program that uses the client, in a process of its own: its globals are Node's and not those of Jest. */
  async start(
    program: string,
    ...args: string[]
  ): Promise<ChildProcessByStdio<null, Readable, null>> {
    const file = join(this.folder, `${randomUUID()}.js`);
    await writeFile(file, program);
    return spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

async function emptyProject(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'markets-odds-client-'));
  await writeFile(join(folder, 'package.json'), '{"private":true,"type":"module"}');
  return folder;
}
