import type { Document } from 'mongodb';
import type { Connection } from 'mongoose';

/** An index that a schema declares. */
export interface WantedIndex {
  readonly collection: string;
  readonly name: string;
  readonly keys: Record<string, 1>;
  readonly unique: boolean;
}

/** The indexes that the schemas of the connection's models declare. */
export function wantedIndexes(connection: Connection): WantedIndex[] {
  return Object.values(connection.models).flatMap(({ collection, schema }) =>
    schema.indexes().map(([keys, { name = '', unique }]) => ({
      collection: collection.collectionName,
      name,
      keys: keys as Record<string, 1>,
      unique: unique === true,
    })),
  );
}

/** Whether an index that is there does what is wanted, whatever it is called. */
export function satisfies(present: Document, { keys, unique }: WantedIndex): boolean {
  const isWhole = !['partialFilterExpression', 'sparse', 'collation', 'hidden'].some(
    (restriction) => present[restriction],
  );
  // Uniqueness does not depend on the order of fields, and in a sharded collection the shard key comes first.
  const fieldsOf = (index: Document) => {
    const fields = Object.entries(index).map(([field, way]) => `${field} ${way}`);
    return (unique ? fields.toSorted() : fields).join();
  };
  const hasKeys = fieldsOf(present['key']) === fieldsOf(keys);
  return isWhole && hasKeys && (!unique || present['unique'] === true);
}
