import type { Stage } from './stage.js';

/** Bytes for each market. */
export interface StoragePart {
  readonly part: string;
  /** As BSON in memory or on the wire; not a number for an index. */
  readonly plain: number;
  /** In WiredTiger's files, compressed. */
  readonly onDisk: number;
}

export async function measureStorage(stage: Stage): Promise<StoragePart[]> {
  const [{ storageStats } = { storageStats: {} }] = await stage.collection
    .aggregate([{ $collStats: { storageStats: {} } }])
    .toArray();
  const { count, avgObjSize, storageSize, indexSizes } = storageStats as {
    readonly count: number;
    readonly avgObjSize: number;
    readonly storageSize: number;
    readonly indexSizes: Readonly<Record<string, number>>;
  };
  return [
    { part: 'documents', plain: avgObjSize, onDisk: storageSize / count },
    ...Object.entries(indexSizes).map(([name, size]) => ({
      part: `index ${name}`,
      plain: NaN,
      onDisk: size / count,
    })),
  ];
}
