import { callerOf, isDate, stateOf, type KeyFields, type StoredApiKey } from './stored-api-key.js';

const ENDED = {
  revoked: 'The key is revoked.',
  expired: 'The key has expired.',
  unreadable: "The key's record can't be understood: its expiresAt is no date.",
} as const;

/**
 * The record of a key made now that takes the place of another: of the same name, limits and length of life.
 * @throws Error when the other can't be rotated
 */
export function successorOf(old: StoredApiKey, now: Date): KeyFields {
  const { rotatedTo } = old;
  const state = stateOf(old, now.getTime());
  if (rotatedTo && state !== 'revoked')
    throw new Error(`The key was rotated already: ${rotatedTo} took its place.`);
  if (state !== 'active') throw new Error(ENDED[state]);
  const { id, name, ...limits } = callerOf(old);
  const fields = { ...limits, name: name || id, createdAt: now, rotatedFrom: id };
  return { ...fields, expiresAt: endAfter(old, now) };
}

/** A new key lives as long as the old one was to live; where nobody knows how long, both end at the same time. */
function endAfter({ createdAt, expiresAt }: StoredApiKey, now: Date): Date | undefined {
  if (!isDate(expiresAt)) return undefined;
  const lifeMs = isDate(createdAt) ? expiresAt.getTime() - createdAt.getTime() : 0;
  return lifeMs > 0 ? new Date(now.getTime() + lifeMs) : expiresAt;
}
