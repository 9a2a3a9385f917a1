import { expect, it } from '@jest/globals';
import { Timestamp } from 'mongodb';
import type { ChangeFeed } from '../../change-feed/change-feed.js';
import { CachedScope } from './cached-scope.js';
import { ChangeHistory } from './change-history.js';
import { LiveScopes } from './live-scopes.js';

const at = (seconds: number) => new Timestamp({ t: seconds, i: 1 });

it('does not know what was told of unknown scopes while a scope was loaded', () => {
  const feed = { position: at(10), listen: () => undefined };
  const history = new ChangeHistory();
  const live = new LiveScopes(feed as unknown as ChangeFeed, history);
  live.forgetAll(at(10));
  const loaded = new CachedScope({ eventId: 'e' }, at(11), []);
  // Nobody knows where the market was before: it may have been in the scope.
  live.committed({ clusterTime: at(13), changes: [{ kind: 'deleted', id: 'a' }] });
  feed.position = at(14);

  const scope = live.add(loaded);

  expect(history.since(scope, at(12))).toBeUndefined();
  expect(history.since(scope, at(14))).toEqual(new Set());
});
