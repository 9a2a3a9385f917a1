import { Problem } from '../../http/problem.js';
import { MARKETS_MAX, MARKETS_TOGETHER_MAX } from '../cache/scope-loader.js';
import { fieldOf, scopeKey, type Scope } from '../scope.js';

const TOO_MANY = `has more than ${MARKETS_MAX} markets`;
const TOO_MANY_TOGETHER = `with it there are more than ${MARKETS_TOGETHER_MAX} markets in all`;

/** @throws Problem naming the first id that has too many markets, or with which all together have */
export function demandFew(scopes: readonly Scope[], countOf: (key: string) => number): void {
  let together = 0;
  for (const scope of scopes) {
    const count = countOf(scopeKey(scope));
    if (count > MARKETS_MAX) throw tooMuchData(scope, TOO_MANY);
    together += count;
    if (together > MARKETS_TOGETHER_MAX) throw tooMuchData(scope, TOO_MANY_TOGETHER);
  }
}

function tooMuchData(scope: Scope, detail: string): Problem {
  const name = fieldOf(scope);
  const id = JSON.stringify(scope[name]);
  return new Problem('too_much_data', `${name} ${id}: ${detail}`, {
    errors: [{ in: 'query', name, detail: `${id}: ${detail}` }],
  });
}

export function tooManyStreams(limit: number): Problem {
  return new Problem('too_many_streams', `This key has ${limit} streams open, which is its limit.`);
}

/** Why memory can't tell what changes. */
const UNTOLD = {
  blind: 'MongoDB tells no changes at present',
  unordered:
    'Some ids, of those asked for or of the markets found, are of a kind that can’t be streamed',
} as const;
export type Untold = keyof typeof UNTOLD;

export function noStream(why: Untold): Problem {
  return new Problem('changes_unavailable', `${UNTOLD[why]}: ask /v1/markets/changes instead.`);
}

export function behindCursor(): Problem {
  return new Problem(
    'database_unavailable',
    'What the cursor stands for is not known here yet. Please try again.',
  );
}
