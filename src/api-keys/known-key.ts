import { elapsedMs, type Moment } from '../common/moment.js';
import type { StoredApiKey } from './api-key.schema.js';

/** A record is trusted for this long after its read began: a revoked key stops working within it. */
const TRUST_MS = 2_000;
/** Records in use are read again after this and the wait for others, long before a request has to wait for it. */
const REFRESH_AFTER_MS = 750;

/** What MongoDB had under an id when it was read last. */
export interface KnownKey {
  /** Undefined: there was none. */
  readonly record: StoredApiKey | undefined;
  /** When that was surely so: the read began then, if a primary was asked. */
  readonly readAt: Moment;
}

export function isTrusted({ readAt }: KnownKey): boolean {
  return elapsedMs(readAt) < TRUST_MS;
}

export function isRecent({ readAt }: KnownKey): boolean {
  return elapsedMs(readAt) < REFRESH_AFTER_MS;
}
