import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { expectCoherence } from '../coherence/expect-coherence.js';
import { feedCut, feedRefused, feedSilent } from '../coherence/faults.js';
import { runPhase } from '../coherence/phase.js';
import { TestMongod } from '../mongo.js';
import { startInProcess, type Service } from '../services.js';

describe('coherence of answers with the database', () => {
  let mongod: TestMongod;
  let service: Service;

  beforeAll(async () => {
    mongod = await TestMongod.start();
    service = await startInProcess(mongod.uri);
  });

  afterAll(async () => {
    await service?.stop();
    await mongod?.stop();
  });

  // A busy machine needs longer.
  const limits = { reads: 500, atLeastMs: 5_000, atMostMs: 30_000 };

  it('holds while the collection is dropped, renamed and replaced', async () => {
    expectCoherence(await runPhase(mongod, service, { ...limits, upheavals: true }));
  });

  it('holds while the change feed is cut, refused and silent', async () => {
    const faults = [feedCut, feedRefused, feedSilent];
    expectCoherence(await runPhase(mongod, service, { ...limits, faults }));
  });
});
