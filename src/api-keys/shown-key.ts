import type { StoredApiKey } from './api-key.schema.js';
import { callerOf, isDate, stateOf } from './key-state.js';

/** A record for people. Others may have written it: what can't be understood is left out. */
export function shown(record: StoredApiKey) {
  const { id, name, rateLimit, streams } = callerOf(record);
  return {
    id: idText(id),
    name,
    state: stateOf(record),
    createdAt: isoTime(record.createdAt),
    expiresAt: isoTime(record.expiresAt),
    revokedAt: isoTime(record.revokedAt),
    rateLimit: rateLimit ?? null,
    streams: streams ?? null,
    rotatedFrom: record.rotatedFrom ?? null,
    rotatedTo: record.rotatedTo ?? null,
  };
}

function idText(id: unknown): string {
  return typeof id === 'string' ? id : JSON.stringify(id);
}

function isoTime(value: unknown): string | null {
  return isDate(value) ? value.toISOString() : null;
}
