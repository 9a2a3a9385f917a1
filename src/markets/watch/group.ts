import { ownBuffer } from '../own-buffer.js';
import { filterOf, type Scope } from '../scope.js';

const COMMA = Buffer.from(',');

/**
 * What is new in a scope, as JSON.
 * @param changed markets as JSON text
 * @param removed ids; undefined where `changed` is all that there is
 */
export function groupOf(
  scope: Scope,
  changed: readonly string[],
  removed?: readonly string[],
): Buffer {
  const id = JSON.stringify(filterOf(scope)).slice(1, -1);
  const markets = `"changed":[${changed.join(',')}],"removed":${JSON.stringify(removed ?? [])}`;
  return ownBuffer(`{${id},"reset":${removed === undefined},${markets}}`);
}

/** `{"data":[…]` of an answer or an event, with what comes before and after, piece by piece. */
export function withGroups(before: string, groups: readonly Buffer[], after: string): Buffer[] {
  const parts = groups.flatMap((group, index) => (index === 0 ? [group] : [COMMA, group]));
  return [Buffer.from(`${before}{"data":[`), ...parts, Buffer.from(`]${after}`)];
}
