import { MongoClient, MongoNetworkError, MongoServerError } from 'mongodb';

const ALREADY_INITIALIZED = 23;

/** A member that finds itself moved cuts the connections that it has taken: it is asked once more then. */
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
      await untilPrimary(uri);
      return uri;
    } catch (error) {
      if (!(error instanceof MongoNetworkError) || attempt === ATTEMPTS) throw error;
    }
  }
}

async function untilPrimary(uri: string): Promise<void> {
  // The driver waits for a primary: it is told by the server, without polling.
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: 30_000 });
  try {
    await client.db('admin').command({ ping: 1 });
  } finally {
    await client.close();
  }
}

interface Configuration {
  readonly _id: string;
  readonly members: readonly { readonly _id: number; readonly host: string }[];
  readonly settings: Readonly<Record<string, number>>;
}

async function configure(wanted: Configuration): Promise<void> {
  const client = new MongoClient(`mongodb://${wanted.members[0]?.host}/?directConnection=true`);
  const admin = client.db('admin');
  try {
    await admin.command({ replSetInitiate: wanted });
  } catch (error) {
    if (!(error instanceof MongoServerError) || error.code !== ALREADY_INITIALIZED) throw error;
    const { config } = await admin.command({ replSetGetConfig: 1 });
    const hosts = ({ members }: Configuration) => members.map(({ host }) => host).join();
    if (hosts(config) === hosts(wanted)) return;
    const moved = { ...config, members: wanted.members, version: config.version + 1 };
    // By force, since a set whose members can't be found has no primary to ask.
    await admin.command({ replSetReconfig: moved, force: true });
  } finally {
    await client.close();
  }
}
