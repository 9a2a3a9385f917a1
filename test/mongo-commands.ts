import type { CommandStartedEvent, Document } from 'mongodb';
import type { Connection } from 'mongoose';

const READS = new Set(['find', 'aggregate', 'count', 'distinct']);

/** A connection string of one host whose client tells which commands it sends. */
export function monitored(uri: string): string {
  const url = new URL(uri);
  url.searchParams.set('monitorCommands', 'true');
  return url.href;
}

/** The reads that a monitored connection sends to a collection of ours while some work is done. */
export async function readsDuring(
  connection: Connection,
  work: () => PromiseLike<unknown>,
): Promise<Document[]> {
  const client = connection.getClient();
  const reads: Document[] = [];
  const note = ({ commandName, command }: CommandStartedEvent) => {
    if (READS.has(commandName) && !isChangeFeed(command)) reads.push(command);
  };
  client.on('commandStarted', note);
  try {
    await work();
  } finally {
    client.off('commandStarted', note);
  }
  return reads;
}

/** How many look-ups these reads are for: each counts its markets once. */
export function lookupsIn(reads: readonly Document[]): number {
  return everyValueOf(reads, '$count').length;
}

/** The values of a property, wherever it is in a document. */
export function everyValueOf(value: unknown, name: string): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    ...(key === name ? [inner] : []),
    ...everyValueOf(inner, name),
  ]);
}

function isChangeFeed({ pipeline }: Document): boolean {
  return pipeline?.[0]?.$changeStream !== undefined;
}
