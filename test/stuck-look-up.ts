import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startServer, type ServerProcess } from './server-process.js';

/** Gives work a server whose MongoDB has a name that the system looks up for ever (where it uses glibc). */
export async function withStuckLookUp(work: (server: ServerProcess) => Promise<void>) {
  const folder = await mkdtemp(join(tmpdir(), 'markets-odds-names-'));
  // The look-up of a name without a dot waits for somebody to write into this file.
  const HOSTALIASES = join(folder, 'aliases');
  await promisify(execFile)('mkfifo', [HOSTALIASES]);
  const server = await startServer({ MONGODB_URI: 'mongodb://odds/x', HOSTALIASES });
  try {
    await work(server);
  } finally {
    await server.stop();
    await rm(folder, { recursive: true });
  }
}
