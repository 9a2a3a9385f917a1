import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** The environment of a server whose MongoDB has a name that the system looks up for ever (where it uses glibc). */
export async function stuckLookUp(folder: string) {
  // The look-up of a name without a dot waits for somebody to write into this file.
  const aliases = join(folder, 'aliases');
  await promisify(execFile)('mkfifo', [aliases]);
  return { MONGODB_URI: 'mongodb://odds/x', HOSTALIASES: aliases };
}
