import { expect, it } from '@jest/globals';
import { Timestamp } from 'mongodb';
import { aMarket } from '../../../test/factories.js';
import type { ChangeFeed } from '../../change-feed/change-feed.js';
import { cachedMarketOf, type CachedMarket } from '../cache/cached-market.js';
import { CachedScope } from '../cache/cached-scope.js';
import { ChangeHistory } from '../cache/change-history.js';
import { WatchGroups } from './watch-groups.js';
import type { WatchedScopes } from './watched-scopes.js';
import { Watch } from './watch.js';

const at = (seconds: number) => new Timestamp({ t: seconds, i: 1 });
const idsIn = (event: readonly Buffer[] = []) =>
  [...String(event).matchAll(/"_id":"(\w)"/g)].map(([, id]) => id);
const largeOf = (event: readonly Buffer[]) => event.filter(({ length }) => length > 100_000);

it('tells a stream what is new since its own position, though another has got less at the same time', () => {
  const markets = ['a', 'b'].map(
    (_id) => cachedMarketOf({ _id, ...aMarket({ eventId: 'e' }) }, at(10)) as CachedMarket,
  );
  const scope = new CachedScope('eventId:e', at(10), markets);
  const watched = { get: () => scope } as unknown as WatchedScopes;
  const history = new ChangeHistory();
  history.startAt(at(10));
  markets.forEach(({ key }, index) => history.note(scope.key, key, at(11 + index)));
  const groups = new WatchGroups(watched, { position: at(12) } as ChangeFeed, history);
  const watch = new Watch([scope.key], {});

  const newer = groups.event(watch, at(11));
  const older = groups.event(watch, at(10));

  expect(idsIn(newer)).toEqual(['b']);
  expect(idsIn(older)).toEqual(['a', 'b']);
  expect(groups.event(watch, at(10))).toBe(older);
});

it('leaves a large event in pieces, which streams of other watches share: copies would fill memory', () => {
  const scopes = ['a', 'b', 'c'].map((id) => {
    const market = cachedMarketOf({ _id: id, ...aMarket({ name: 'x'.repeat(100_000) }) }, at(10));
    return new CachedScope(`eventId:${id}`, at(10), market ? [market] : []);
  });
  const held = new Map<string, CachedScope>(scopes.map((scope) => [scope.key, scope]));
  const watched = { get: (key: string) => held.get(key) } as unknown as WatchedScopes;
  const groups = new WatchGroups(watched, { position: at(12) } as ChangeFeed, new ChangeHistory());

  const one = groups.event(new Watch(['eventId:a', 'eventId:b'], {}), undefined) ?? [];
  const other = groups.event(new Watch(['eventId:a', 'eventId:c'], {}), undefined) ?? [];
  expect(largeOf(one)).toHaveLength(2);
  expect(largeOf(one)[0]).toBe(largeOf(other)[0]);
  expect(String(Buffer.concat(one))).toMatch(/^event: changes\nid: .*"eventId":"b".*\n\n$/s);
});
