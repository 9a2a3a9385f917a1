import { formatTable } from '../common/command.js';
import { printable } from '../common/text.js';
import { callerOf, isDate, stateOf, type StoredApiKey } from './stored-api-key.js';

/** A record as commands show it. Others may have written it: what can't be understood is null, a name empty. */
export function shownKey(record: StoredApiKey) {
  const { id, name, rateLimit, streams } = callerOf(record);
  return {
    id: typeof id === 'string' ? id : JSON.stringify(id),
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

type ShownKey = ReturnType<typeof shownKey>;

export function keysTable(keys: readonly ShownKey[]): string {
  const heading = ['ID', 'NAME', 'STATE', 'CREATED', 'EXPIRES', 'PER MINUTE', 'STREAMS'];
  const rows = keys.map(({ id, name, state, createdAt, expiresAt, rateLimit, streams }) => [
    id,
    printable(name),
    state,
    createdAt ?? 'unknown',
    expiresAt ?? (state === 'unreadable' ? 'unknown' : 'never'),
    String(rateLimit ?? 'default'),
    String(streams ?? 'default'),
  ]);
  return formatTable([heading, ...rows]);
}

function isoTime(value: unknown): string | null {
  return isDate(value) ? value.toISOString() : null;
}
