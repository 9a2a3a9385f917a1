import { MongoClient } from 'mongodb';
import { mkdtemp, rm, cp, readdir } from 'node:fs/promises';
import { MongodProcess } from '../src/database/embedded/mongod-process.js';
import { formReplicaSet } from '../src/database/embedded/replica-set.js';
import { freePort } from '../src/database/embedded/free-port.js';
import { findMongod } from '../src/database/embedded/find-mongod.js';
import { MarketSchema } from '../src/markets/market.schema.js';
import { generateKey, hashKey, keyIdOf } from '../src/api-keys/key-form.js';
import { seed } from './seed.js';
import { CONTENDERS, startContender, stopContender } from './contenders.js';
import { startNode, endAll, end, ready } from './processes.js';
import { cpuSeconds, moveToCore, peakMemoryMb, OTHER_CORE } from './machine.js';
import type { Load, LoadReply, LoadResult } from './load-client.js';
import { once } from 'node:events';

const N = Number(process.env.N ?? 200000);
const ROUNDS = Number(process.env.ROUNDS ?? 3);
const SEC = Number(process.env.SEC ?? 3);
const WARM = Number(process.env.WARM ?? 2);
const PROF = process.env.PROF;
const only = process.env.ONLY?.split(',');
const conts = process.env.CONT ? CONTENDERS.filter((_, i) => process.env.CONT!.includes(String(i))) : CONTENDERS;
const cwd = await mkdtemp('/tmp/bnch/run-');
const persistent = process.env.DB;
const { mkdir } = await import('node:fs/promises');
const dbPath = persistent ?? cwd + '/db';
await mkdir(dbPath, { recursive: true });
const mongod = await MongodProcess.start({ program: await findMongod(), dbPath, port: await freePort(), replicaSet: 'bench' });
try {
  const base = await formReplicaSet('bench', [mongod.port]);
  const uri = base.replace('/?', '/markets-odds?');
  const client = await MongoClient.connect(uri);
  await client.db('admin').command({ setParameter: 1, wiredTigerEngineRuntimeConfig: 'cache_size=4GB' });
  const coll = client.db().collection<any>('markets');
  const have = await coll.estimatedDocumentCount();
  const t0 = performance.now();
  if (have < N) {
    await seed(coll, have, N, () => {});
    console.log('seeded', N, (performance.now() - t0) / 1000);
    await coll.createIndexes(MarketSchema.indexes().map(([key, o]) => ({ key: key as any, name: o.name as string, unique: (o as any).unique === true })));
    console.log('indexed', (performance.now() - t0) / 1000);
  }
  const key = generateKey();
  await client.db().collection<any>('api_keys').insertOne({ _id: keyIdOf(key), name: 'bench', hash: hashKey(key), createdAt: new Date(), rateLimit: 0 });
  moveToCore(OTHER_CORE, mongod.pid);
  moveToCore(OTHER_CORE, process.pid);
  const load = startNode(OTHER_CORE, './load-client.js', []);
  const run = async (l: Load): Promise<LoadResult> => {
    load.send(l);
    const [r] = (await once(load, 'message')) as [LoadReply];
    if ('failure' in r) throw new Error(r.failure);
    return r.result;
  };
  const scen = [
    { name: 'cold', workload: 'cold', conditional: false, writer: false },
    { name: 'hot', workload: 'hot', conditional: false, writer: false },
    { name: 'hotw', workload: 'hot', conditional: false, writer: true },
    { name: 'inmw', workload: 'hot', conditional: true, writer: true },
    { name: 'inm', workload: 'hot', conditional: true, writer: false },
  ] as const;
  for (const s of scen.filter((x) => !only || only.includes(x.name))) {
    const writer = s.writer ? startNode(OTHER_CORE, './writer.js', [uri, String(N), '500']) : undefined;
    if (writer) await ready(writer);
    for (let r = 0; r < ROUNDS; r++) {
      for (const c of conts) {
        const server = await startContender(c, { uri, cwd, nodeArgs: PROF ? ['--cpu-prof', '--cpu-prof-interval', '500', `--cpu-prof-dir=${PROF}/${s.name}-${c.replaceAll(/\W+/g, '_')}`] : [] });
        const l = { port: server.port, key, workload: s.workload, markets: N, conditional: s.conditional, connections: 16, seconds: WARM, seed: 7 + r };
        await run(l);
        const c0 = cpuSeconds(server.pid), m0 = cpuSeconds(mongod.pid), k0 = cpuSeconds(load.pid!);
        const x = await run({ ...l, seconds: SEC, seed: 99 + r });
        const c1 = cpuSeconds(server.pid), m1 = cpuSeconds(mongod.pid), k1 = cpuSeconds(load.pid!);
        console.log(s.name.padEnd(5), c.padEnd(20), (x.requests / x.seconds).toFixed(0).padStart(7), 'p50', x.p50.toFixed(2), 'p99', x.p99.toFixed(2), 'us/req', ((c1 - c0) / x.requests * 1e6).toFixed(0), 'mongo', ((m1 - m0) / x.requests * 1e6).toFixed(0), 'client', ((k1 - k0) / x.requests * 1e6).toFixed(0), 'busy', ((c1-c0)/x.seconds).toFixed(2), ((m1-m0)/x.seconds).toFixed(2), ((k1-k0)/x.seconds).toFixed(2), 'rss', peakMemoryMb(server.pid).toFixed(0), JSON.stringify(x.statuses), (x.bodyBytes / x.requests).toFixed(0));
        if (PROF) { const gone = once(server.process, 'exit'); server.process.kill(c === 'bare driver' ? 'SIGINT' : 'SIGTERM'); await gone; }
        else await stopContender(server);
      }
    }
    if (writer) await end(writer);
  }
  await client.close();
} finally {
  await endAll();
  await mongod.stop();
  await rm(cwd, { recursive: true, force: true });
}
