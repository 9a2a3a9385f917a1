import type { CommandStartedEvent, Document } from 'mongodb';
import type { Connection } from 'mongoose';

const READS = new Set(['find', 'aggregate', 'count', 'distinct']);

/** A connection string of one host whose client tells which commands it sends. */
export function monitored(uri: string): string {
  const url = new URL(uri);
  url.searchParams.set('monitorCommands', 'true');
  return url.href;
}

/** The commands that a monitored connection sends while some work is done, those of change streams apart. */
export async function commandsDuring(
  connection: Connection,
  work: () => PromiseLike<unknown>,
): Promise<CommandStartedEvent[]> {
  const client = connection.getClient();
  const commands: CommandStartedEvent[] = [];
  const note = (started: CommandStartedEvent) => {
    if (!isOfChangeStream(started.command)) commands.push(started);
  };
  client.on('commandStarted', note);
  try {
    await work();
  } finally {
    client.off('commandStarted', note);
  }
  return commands;
}

/** The reads among them. */
export async function readsDuring(
  connection: Connection,
  work: () => PromiseLike<unknown>,
): Promise<Document[]> {
  const commands = await commandsDuring(connection, work);
  return commands.filter(({ commandName }) => READS.has(commandName)).map(({ command }) => command);
}

/** How many look-ups these reads are for: each counts its markets once. */
export function lookupsIn(reads: readonly Document[]): number {
  return everyValueOf(reads, '$sum').length;
}

/** The values of a property, wherever it is in a document. */
export function everyValueOf(value: unknown, name: string): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    ...(key === name ? [inner] : []),
    ...everyValueOf(inner, name),
  ]);
}

/** What MongoDB says that the cursor of a change stream of a whole database is of. */
const OF_DATABASE = '$cmd.aggregate';

/** Whether it opens, reads or closes a change stream: the service reads what changed before its start by one. */
function isOfChangeStream({ pipeline, collection, killCursors }: Document): boolean {
  const isOpened = pipeline?.[0]?.$changeStream !== undefined;
  return isOpened || collection === OF_DATABASE || killCursors === OF_DATABASE;
}
