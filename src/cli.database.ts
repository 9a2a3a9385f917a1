import { ApiKeySchema, StoredApiKey } from './api-keys/api-key.schema.js';
import { deliver, print, say } from './cli.output.js';
import { graceAfter } from './cli.signals.js';
import { CommandFailure, messageOf, type CommandContext } from './common/command.js';
import { loadConfig } from './config.js';
import { newConnection, openConnection } from './database/connection.js';
import { Market, MarketSchema } from './markets/market.schema.js';

interface Options {
  /** The command's name, for who waits for the embedded MongoDB meanwhile. */
  readonly name: string;
  readonly signal: AbortSignal;
  /** Whether results are printed as JSON. */
  readonly json: boolean;
}

interface RunOptions extends Options {
  readonly dbInit: boolean;
}

type Work = (context: CommandContext) => Promise<void>;

/** Gives a command the database, the embedded MongoDB's unless another is named, and ends the connection after it. */
export async function withDatabase(options: Options, work: Work): Promise<void> {
  const { mongodbUri, embeddedDbPath, dbInit } = loadConfig();
  if (mongodbUri) return runOn(mongodbUri, { ...options, dbInit }, work);
  const { openEmbedded } = await import('./embedded-mongod/embedded.js');
  const { name, signal } = options;
  const owner = { path: embeddedDbPath, name, shared: false, signal };
  const embedded = await openEmbedded(owner, (message) => void say(message));
  try {
    return await runOn(embedded.uri, { ...options, dbInit }, work);
  } finally {
    await embedded.close();
  }
}

/** Without Nest, which takes longer to load than most commands take to run. */
async function runOn(uri: string, { signal, json, dbInit }: RunOptions, work: Work) {
  const connection = newConnection();
  connection.model(Market.name, MarketSchema);
  connection.model(StoredApiKey.name, ApiKeySchema);
  const context: CommandContext = {
    connection,
    dbInit,
    signal,
    say,
    print: (result) => print(result, json),
    deliver: (result) => deliver(result, json, signal),
  };
  try {
    await openConnection(connection, uri, { minPoolSize: 0 }).catch(unreachable);
    signal.throwIfAborted();
    await Promise.race([work(context), graceAfter(signal)]);
  } finally {
    await connection.close(true);
  }
}

function unreachable(error: unknown): never {
  throw new CommandFailure(`MongoDB can't be reached: ${messageOf(error)}`);
}
