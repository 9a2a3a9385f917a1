import { MongoClient } from 'mongodb';
import { freePort } from './free-port.js';
import type { Owner } from './owner-file.js';

export const REPLICA_SET = 'embedded';

const ANSWER_MS = 2_000;

export function uriOf(port: number): string {
  return `mongodb://127.0.0.1:${port}/?replicaSet=${REPLICA_SET}`;
}

/** Whether the mongod that the owner started on this data path answers. */
export async function isRunning({ port }: Owner, dbPath: string): Promise<boolean> {
  if ((await freePort(port)) === port) return false;
  const timeouts = { serverSelectionTimeoutMS: ANSWER_MS, connectTimeoutMS: ANSWER_MS };
  const client = new MongoClient(uriOf(port), timeouts);
  try {
    const { parsed } = await client.db('admin').command({ getCmdLineOpts: 1 });
    return parsed.storage?.dbPath === dbPath;
  } catch {
    return false;
  } finally {
    await client.close();
  }
}
