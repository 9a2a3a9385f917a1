import { MongoClient, type Document, type MongoClientOptions } from 'mongodb';

/** Runs a command on the admin database, by a connection of its own. */
export async function adminCommand(
  uri: string,
  command: Document,
  options?: MongoClientOptions,
): Promise<Document> {
  const client = new MongoClient(uri, options);
  try {
    return await client.db('admin').command(command);
  } finally {
    await client.close();
  }
}
