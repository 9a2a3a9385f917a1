import { textOfKey } from '../cache/id-order.js';
import type { MarketChange } from '../cache/market-change.js';
import type { ChangeHistory } from './change-history.js';

/** Marks an id of a kind that memory can't order: its text follows. */
const UNORDERED = '?';

/** Notes a change of one market in all scopes that it tells of. */
export function noteIn(history: ChangeHistory, change: MarketChange): void {
  const { clusterTime, id, idText, scopeKeys, scopeKeysBefore } = change;
  const idKey = id?.key ?? UNORDERED + idText;
  for (const key of [...scopeKeys, ...(scopeKeysBefore ?? [])]) {
    history.note(key, idKey, clusterTime);
  }
  if (!scopeKeysBefore || change.concernsAll) history.noteUnknown(clusterTime);
}

/** The id of a note as callers see it. */
export function textOfNote(idKey: string): string {
  return idKey.startsWith(UNORDERED) ? idKey.slice(UNORDERED.length) : textOfKey(idKey);
}
