import { expect, it } from '@jest/globals';
import type { ChangeFeed } from '../change-feed/change-feed.js';
import { FRESH_FOR_MS } from '../change-feed/progress.js';
import type { Database } from '../database/database.js';
import { ReadinessService } from './readiness.service.js';

it('never tells an age within the bound of a feed that is late', () => {
  const standing = { state: 'late', ageMs: FRESH_FOR_MS + 0.1 } as const;
  const feed = { standing, told: { newestChangeOf: () => undefined } };
  const { changeFeed } = new ReadinessService(
    {} as Database,
    feed as unknown as ChangeFeed,
  ).state();
  expect(changeFeed.ageSeconds).toBeGreaterThan(FRESH_FOR_MS / 1_000);
});
