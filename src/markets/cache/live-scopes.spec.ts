import { beforeEach, expect, it } from '@jest/globals';
import { Timestamp } from 'mongodb';
import { aMarket } from '../../../test/factories.js';
import type { ChangeFeed } from '../../change-feed/change-feed.js';
import type { Change } from '../../change-feed/change.js';
import { cachedMarketOf, type CachedMarket } from './cached-market.js';
import { CachedScope } from './cached-scope.js';
import { ChangeHistory } from './change-history.js';
import { LiveScopes } from './live-scopes.js';
import { makeScope } from './make-scope.js';

const at = (seconds: number) => new Timestamp({ t: seconds, i: 1 });
const eventId = 'e';
const stored = (name: string) => ({ _id: 'a', ...aMarket({ eventId, name }) });
const namesIn = (scope: CachedScope) =>
  scope.matching({}).map(({ json }) => (JSON.parse(json) as { name: string }).name);

let feed: { position: Timestamp; listen(): void };
let history: ChangeHistory;
let live: LiveScopes;

/** A scope with one market, read at this time. */
function scopeReadAt(seconds: number, name: string): CachedScope {
  const market = cachedMarketOf(stored(name), at(seconds)) as CachedMarket;
  return new CachedScope(`eventId:${eventId}`, at(seconds), [market]);
}

function tell(seconds: number, change: Change): void {
  live.committed({ clusterTime: at(seconds), changes: [change] });
}

beforeEach(() => {
  feed = { position: at(10), listen: () => undefined };
  history = new ChangeHistory();
  live = new LiveScopes(feed as unknown as ChangeFeed, history);
  live.forgetAll(at(10));
});

it('does not know what was told of unknown scopes while a scope was loaded', () => {
  const loaded = new CachedScope(`eventId:${eventId}`, at(11), []);
  // Nobody knows where the market was before: it may have been in the scope.
  tell(13, { kind: 'deleted', id: 'a' });
  feed.position = at(14);

  const scope = live.add(loaded);

  expect(history.since(scope, at(12))).toBeUndefined();
  expect(history.since(scope, at(14))).toEqual(new Set());
});

it('applies no change that is older than what was read', () => {
  const scope = live.add(scopeReadAt(14, 'new'));
  tell(13, { kind: 'stored', id: 'a', before: {}, document: stored('old') });
  expect(namesIn(scope)).toEqual(['new']);
});

it('never knows what was before another collection, however far back is noted after that', () => {
  tell(12, { kind: 'collectionReplaced' });
  history.extendTo(at(5));
  expect(history.begin).toEqual(at(12));
});

it('knows where a market was though nobody tells, and leaves alone where it never was', () => {
  const scope = live.add(scopeReadAt(10, 'here'));
  const [target, other] = (['eventId:there', 'eventId:elsewhere'] as const).map((key) =>
    live.add(new CachedScope(key, at(10), [])),
  ) as [CachedScope, CachedScope];
  const told: CachedScope[] = [];
  live.addOwner({ owns: () => true, changed: (changed) => told.push(changed) });
  const moved = { _id: 'a', ...aMarket({ eventId: 'there', name: 'moved' }) };
  tell(11, { kind: 'stored', id: 'a', document: moved });
  expect([scope, target, other].map(namesIn)).toEqual([[], ['moved'], []]);
  expect(new Set(told)).toEqual(new Set([scope, target]));
  tell(12, { kind: 'deleted', id: 'a' });
  expect(namesIn(target)).toEqual([]);
});

it('loses the scope that a market gets within a list of ids', () => {
  const scope = live.add(scopeReadAt(10, 'here'));
  const other = live.add(new CachedScope('eventId:other', at(10), []));
  tell(11, { kind: 'altered', id: 'elsewhere', fields: { 'eventId.1': eventId } });
  expect([scope, other].map(({ key }) => live.get(key))).toEqual([undefined, other]);
});

it('tells nothing of a scope that is released while a change to both is told', () => {
  const market = aMarket({ eventId });
  const cached = cachedMarketOf({ _id: 'a', ...market }, at(10)) as CachedMarket;
  const scopes = ([`eventId:${eventId}`, `fixtureId:${market.fixtureId}`] as const).map((scope) =>
    live.add(new CachedScope(scope, at(10), [cached])),
  );
  const told: CachedScope[] = [];
  // As a cache that makes room for one of them.
  const changed = (grown: CachedScope) => {
    told.push(grown);
    for (const { key } of scopes.filter((scope) => scope !== grown)) live.release(key);
  };
  live.addOwner({ owns: (scope) => told.includes(scope), changed: () => undefined });
  live.addOwner({ owns: () => told.length === 0, changed });
  tell(11, { kind: 'stored', id: 'a', before: {}, document: { _id: 'a', ...market, name: 'new' } });
  expect(told).toHaveLength(1);
  expect(scopes.map(namesIn).flat()).toEqual(expect.arrayContaining(['new', market.name]));
});

/** A market as it was read. */
const read = (name: string, id = 'a') => cachedMarketOf({ ...stored(name), _id: id }, at(12));

it('a scope loses what was deleted while it was read, though nobody knows where it was', () => {
  const commits = [{ clusterTime: at(13), changes: [{ kind: 'deleted', id: 'a' } as const] }];
  const made = makeScope(`eventId:${eventId}`, [read('old')], at(12), commits);
  expect(namesIn(made as CachedScope)).toEqual([]);
});

it('a scope is not made of what was read before its collection was put in place of another', () => {
  const commits = [{ clusterTime: at(13), changes: [{ kind: 'collectionReplaced' } as const] }];
  expect(makeScope(`eventId:${eventId}`, [read('old')], at(12), commits)).toBe('outdated');
  expect(makeScope(`eventId:${eventId}`, [read('new')], at(13), commits)).toBeInstanceOf(
    CachedScope,
  );
});

it('a scope is not made that has become too large while it was read', () => {
  const most = Array.from({ length: 2_000 }, (_, index) => read('old', `${index}`));
  const insert = { kind: 'stored', id: 'a', before: {}, document: stored('new') } as const;
  const commits = [{ clusterTime: at(13), changes: [insert] }];
  expect(makeScope(`eventId:${eventId}`, most, at(12), [])).toBeInstanceOf(CachedScope);
  expect(makeScope(`eventId:${eventId}`, most, at(12), commits)).toBe('too large');
});
