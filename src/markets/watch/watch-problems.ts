import { Problem } from '../../http/problem.js';
import { SCOPE_FIELDS, type Scope } from '../scope.js';

const RETRY_SOON = { headers: { 'Retry-After': '1' } };

/** @param scope the one that is too large, or with which all together are */
export function tooMuchData(scope: Scope, detail: string): Problem {
  const [name = ''] = SCOPE_FIELDS.filter((field) => scope[field] !== undefined);
  const id = JSON.stringify(scope[name as keyof Scope]);
  return new Problem('too_much_data', `${name} ${id}: ${detail}`, {
    errors: [{ in: 'query', name, detail: `${id}: ${detail}` }],
  });
}

export function tooManyStreams(limit: number): Problem {
  return new Problem(
    'too_many_streams',
    `This key has ${limit} streams open, which is its limit.`,
    RETRY_SOON,
  );
}

export function noChangeFeed(): Problem {
  return new Problem(
    'changes_unavailable',
    'MongoDB tells no changes at present: ask /v1/markets/changes instead.',
    RETRY_SOON,
  );
}

export function behindCursor(): Problem {
  return new Problem(
    'database_unavailable',
    'What the cursor stands for is not known here yet. Please try again.',
    RETRY_SOON,
  );
}
