import {
  MongoClient,
  MongoNetworkError,
  MongoServerError,
  type Document,
  type MongoClientOptions,
} from 'mongodb';

const ALREADY_INITIALIZED = 23;

/** A member that finds that it was moved cuts its connections: it is asked again, this many times in all. */
const ATTEMPTS = 5;

/**
 * Makes the mongods on these ports of 127.0.0.1 a replica set, or tells the set that its only member moved
 * to another port; resolves when there is a primary.
 */
export async function formReplicaSet(
  name: string,
  ports: readonly number[],
  settings: Readonly<Record<string, number>> = {},
): Promise<string> {
  const members = ports.map((port, index) => ({ _id: index, host: `127.0.0.1:${port}` }));
  const uri = `mongodb://${members.map(({ host }) => host).join(',')}/?replicaSet=${name}`;
  for (let attempt = 1; ; attempt++) {
    try {
      await configure({ _id: name, members, settings });
      // The driver waits for a primary: it is told by the server, without polling.
      await adminCommand(uri, { ping: 1 });
      return uri;
    } catch (error) {
      if (!(error instanceof MongoNetworkError) || attempt === ATTEMPTS) throw error;
    }
  }
}

async function configure(wanted: Document): Promise<void> {
  const uri = `mongodb://${wanted['members'][0].host}/?directConnection=true`;
  try {
    await adminCommand(uri, { replSetInitiate: wanted });
  } catch (error) {
    if (!(error instanceof MongoServerError) || error.code !== ALREADY_INITIALIZED) throw error;
    const { config } = await adminCommand(uri, { replSetGetConfig: 1 });
    if (hostsOf(config) === hostsOf(wanted)) return;
    const moved = { ...config, members: wanted['members'], version: config.version + 1 };
    // By force, since a set whose members can't be found has no primary to ask.
    await adminCommand(uri, { replSetReconfig: moved, force: true });
  }
}

function hostsOf({ members }: Document): string {
  return members.map(({ host }: Document) => host).join();
}

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
