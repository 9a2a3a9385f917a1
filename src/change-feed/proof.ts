import type { Db } from 'mongodb';

/** Where changes are told, but not whether any are missing. */
export class NoProof extends Error {}

/**
 * A member of a replica set says with each answer how far it has got itself, writes of others included: that
 * proves how fresh a stream is. A mongos doesn't: it says how far the shards had got that it last heard of, and
 * another shard may have taken a write since.
 * @throws NoProof behind a mongos
 */
export async function demandProof(db: Db): Promise<void> {
  const { msg } = await db.command({ hello: 1 });
  if (msg === 'isdbgrid') {
    throw new NoProof("through a mongos it can't be known whether changes are missing");
  }
}
