import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { History, type Lookup, type Shown } from './coherence/history.js';
import { shownForm, type ModelMarket } from './coherence/model-market.js';
import { runPhase } from './coherence/phase.js';
import { startInProcess, type Service } from './services.js';
import { expectCoherence } from './coherence/expect-coherence.js';
import { TestMongod } from './mongo.js';

/** The shortest form of `npm run test:coherence`; `test/long` has a longer one. */
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
  const limits = { reads: 200, atLeastMs: 1_500, atMostMs: 15_000 };

  it('holds while single markets and pairs change', async () => {
    const tally = await runPhase(mongod, service, limits);
    expectCoherence(tally);
    expect(tally.fromMemory).toBeGreaterThan(0);
  });
});

describe('the judge of coherence', () => {
  const one = aModelMarket({ id: 'a', version: 1 });
  const other = aModelMarket({ id: 'b', version: 1 });
  const lookup: Lookup = { scope: 'event:e', page: 1, take: 10 };

  let clock: number;
  let history: History;
  const at = (time: number) => {
    clock = time;
  };
  const judge = (start: number, end: number, markets: readonly ModelMarket[]) =>
    history.judge({ lookup, shown: shown(markets), start, end });

  beforeEach(() => {
    history = new History(() => clock);
    at(100);
    const acknowledged = history.begin([{ stored: [one, other] }]);
    at(110);
    acknowledged();
  });

  it('takes the old state and the new one while a write is on its way', () => {
    expect(judge(90, 105, [])).toEqual({ staleMs: 0 });
    expect(judge(90, 105, [one, other])).toEqual({ staleMs: 0 });
  });

  it('says how old an answer is', () => {
    expect(judge(150, 160, [])).toEqual({ staleMs: 40 });
    expect(judge(150, 160, [one, other])).toEqual({ staleMs: 0 });
  });

  it('finds an answer that mixes two states', () => {
    expect(judge(150, 160, [one])).toEqual({});
  });

  it('finds a total of another state than the page', () => {
    const { markets, meta } = shown([one, other]);
    const wrongTotal = { markets, meta: { ...meta, itemCount: 3 } };
    expect(history.judge({ lookup, shown: wrongTotal, start: 150, end: 160 })).toEqual({});
  });

  it('takes no answer from the future', () => {
    at(200);
    history.begin([{ removed: [other] }]);
    expect(judge(150, 160, [one])).toEqual({});
    expect(judge(150, 201, [one])).toEqual({ staleMs: 0 });
  });

  it('takes what becomes true in turn only in that order', () => {
    at(200);
    const acknowledged = history.begin([{ removed: [one] }, { removed: [other] }]);
    expect(judge(195, 205, [other])).toEqual({ staleMs: 0 });
    expect(judge(195, 205, [one])).toEqual({});
    at(210);
    acknowledged();
    expect(judge(215, 220, [other])).toEqual({ staleMs: 5 });
    expect(judge(215, 220, [])).toEqual({ staleMs: 0 });
  });
});

function aModelMarket(fields: Pick<ModelMarket, 'id' | 'version'>): ModelMarket {
  return { eventId: 'e', fixtureId: 'f', marketMoment: 'live', marketType: 'BTTS', ...fields };
}

/** The first page of ten that shows these markets and no others. */
function shown(markets: readonly ModelMarket[]): Shown {
  const itemCount = markets.length;
  const pages = {
    pageCount: Math.ceil(itemCount / 10),
    hasPreviousPage: false,
    hasNextPage: false,
  };
  return { markets: markets.map(shownForm), meta: { page: 1, take: 10, itemCount, ...pages } };
}
