import { elapsedMs, type Moment } from '../common/moment.js';
import type { StoredApiKey } from './stored-api-key.js';

/** A record is trusted for this long after its read began: a revoked key stops working within it. */
const TRUST_MS = 2_000;
/** At this age a record in use is read again in the background, so that no request waits for the read. */
const REFRESH_AFTER_MS = 750;

/** What MongoDB had under an id when it was read last. */
export interface KnownKey {
  /** Undefined: there was none. */
  readonly record: StoredApiKey | undefined;
  /** When the read began; earlier by what a secondary may lack, if one answered. */
  readonly readAt: Moment;
}

export function isTrusted({ readAt }: KnownKey): boolean {
  return elapsedMs(readAt) < TRUST_MS;
}

export function isRecent({ readAt }: KnownKey): boolean {
  return elapsedMs(readAt) < REFRESH_AFTER_MS;
}
