import { Problem } from '../../http/problem.js';
import { WATCH_MARKETS_MAX } from '../cache/find-scopes.js';
import { SCOPE_MARKETS_MAX } from '../cache/make-scope.js';
import { partsOf, type Scope } from '../scope.js';

/** How many markets a scope has; undefined while it is not in memory. */
type SizeOf = (scope: Scope) => number | undefined;

/** @returns a problem that names the first scope with which there are too many markets, in it or in all */
export function tooMuchData(scopes: readonly Scope[], sizeOf: SizeOf): Problem | undefined {
  let total = 0;
  for (const scope of scopes) {
    const size = sizeOf(scope) ?? 0;
    total += size;
    if (size <= SCOPE_MARKETS_MAX && total <= WATCH_MARKETS_MAX) continue;
    const [name, value] = partsOf(scope);
    const id = JSON.stringify(value);
    const detail =
      size > SCOPE_MARKETS_MAX
        ? `${id}: has more than ${SCOPE_MARKETS_MAX} markets`
        : `${id}: with it there are more than ${WATCH_MARKETS_MAX} markets in all`;
    const errors = [{ in: 'query', name, detail }] as const;
    return new Problem('too_much_data', `${name} ${detail}`, { errors });
  }
  return undefined;
}

/** @throws Problem when there are too many markets */
export function checkSizes(scopes: readonly Scope[], sizeOf: SizeOf): void {
  const problem = tooMuchData(scopes, sizeOf);
  if (problem) throw problem;
}

/** Why memory can't tell changes. */
const UNAVAILABLE = {
  notCurrent: 'What has changed is not known at present',
  outdated: 'Some markets change faster than they can be read',
  unordered:
    'Some ids, of those asked for or of the markets found, are of a kind that cannot be streamed',
};

export function changesUnavailable(why: keyof typeof UNAVAILABLE): Problem {
  const detail = `${UNAVAILABLE[why]}: ask /v1/markets/changes instead.`;
  return new Problem('changes_unavailable', detail);
}

/** No answer shows a state before the position of its cursor. */
export function replicaBehind(): Problem {
  const detail = 'This replica is behind what it was asked for. Please try again.';
  return new Problem('database_unavailable', detail);
}
