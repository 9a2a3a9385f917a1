export interface MongodOptions {
  readonly program: string;
  readonly dbPath: string;
  readonly port: number;
  /** Name of the replica set that it is to be part of; without: a standalone server. */
  readonly replicaSet?: string;
  /** More arguments for mongod. */
  readonly args?: readonly string[];
}

export function mongodArguments({ dbPath, port, replicaSet, args = [] }: MongodOptions): string[] {
  return [
    `--dbpath=${dbPath}`,
    `--port=${port}`,
    '--bind_ip=127.0.0.1',
    '--nounixsocket',
    // zlib compression in 6.0.5 has a known hole, and nothing is gained on loopback.
    '--networkMessageCompressors=disabled',
    '--storageEngine=wiredTiger',
    '--wiredTigerCacheSizeGB=0.25',
    '--setParameter=diagnosticDataCollectionEnabled=false',
    ...(replicaSet ? [`--replSet=${replicaSet}`, '--oplogSize=200'] : []),
    ...args,
  ];
}
