import type { Command } from 'commander';
import { createConnection } from 'mongoose';
import { deliver, print, say } from './cli.output.js';
import { MAY_BE_DONE } from './cli.signals.js';
import type { CommandContext } from './common/command.js';
import { SLOW_CONNECTION, tellIfSlow } from './common/tell-if-slow.js';
import { messageOf } from './common/text.js';
import { loadConfig, type Config } from './config.js';
import { openConnection } from './database/connection.js';
import { isAway, whyNotConnected } from './database/mongo-errors.js';
import type { EmbeddedMongo } from './embedded-mongod/embedded.js';
import { Market, MarketSchema } from './markets/market.schema.js';

/** A command may wait longer than a request: its operator may be far from MongoDB, or the machine slow. */
const CONNECTION_OPTIONS = { minPoolSize: 0, waitQueueTimeoutMS: 5_000 };

/**
 * Gives a command the database, the embedded MongoDB's unless another is named, and ends the connection after it.
 * Without Nest, which takes longer to load than most commands take to run.
 */
export async function withDatabase(
  program: Command,
  signal: AbortSignal,
  work: (context: CommandContext) => Promise<void>,
): Promise<void> {
  const config = loadConfig();
  const json = program.opts()['json'] === true;
  // Programs that wait for the embedded MongoDB of this command show this name.
  const name = program.args.slice(0, 2).join(' ');
  const server = await openServer(config, name, signal);
  const connection = createConnection();
  connection.model(Market.name, MarketSchema);
  const context: CommandContext = {
    connection,
    dbInit: config.dbInit,
    signal,
    say,
    print: (result) => print(result, json),
    deliver: (result) => deliver(result, json, signal),
  };
  try {
    const open = () => openConnection(connection, server.uri, CONNECTION_OPTIONS);
    await tellIfSlow(open, say, SLOW_CONNECTION).catch((error: unknown) => {
      throw new Error(whyNotConnected(error));
    });
    signal.throwIfAborted();
    await work(context).catch(sayIfAway);
  } finally {
    await connection.close(true).finally(() => server.close());
  }
}

/** The driver's message alone does not tell that it is MongoDB's, and a write may have been done all the same. */
function sayIfAway(error: unknown): never {
  if (!isAway(error)) throw error;
  throw new Error(`MongoDB can't be used: ${messageOf(error)}\n${MAY_BE_DONE}`, { cause: error });
}

async function openServer(
  { mongodbUri, embeddedDbPath: path }: Config,
  name: string,
  signal: AbortSignal,
): Promise<Pick<EmbeddedMongo, 'uri' | 'close'>> {
  if (mongodbUri) return { uri: mongodbUri, close: async () => undefined };
  const { openEmbedded } = await import('./embedded-mongod/embedded.js');
  return openEmbedded({ path, name, shared: false, signal }, (message) => void say(message));
}
