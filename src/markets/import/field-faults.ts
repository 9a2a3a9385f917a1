import { ID_RULE, isId } from '../../http/input/id-rule.js';
import type { StoredFieldRule } from '../stored-field.decorator.js';

/** What is wrong with the value that a record gives a field; nothing if it is right. */
export function fieldFault(
  { kind, optional, values }: StoredFieldRule,
  value: unknown,
): string | undefined {
  if (kind === 'objectId') return 'is made by MongoDB and must not be given';
  if (value === null) return optional ? 'must not be null: leave it out' : 'must not be null';
  switch (kind) {
    case 'exact':
      return isId(value) ? unicodeFault(value) : `must be text of ${ID_RULE}`;
    case 'text':
      if (values && !values.some((allowed) => allowed === value)) {
        return `must be one of ${values.join(', ')}`;
      }
      if (typeof value !== 'string' || value === '') return 'must be text that is not empty';
      return unicodeFault(value);
    case 'price':
      if (typeof value === 'number' && Number.isFinite(value) && value > 0) return undefined;
      return 'must be a finite number above 0';
    case 'date':
      if (typeof value === 'string' && isInstant(value)) return undefined;
      return 'must be a date and time with zone in ISO 8601, such as 2026-11-21T07:03:00.044Z';
    default:
      return Array.isArray(value) ? undefined : 'must be a list';
  }
}

/** Half a surrogate pair would be stored as another character. */
function unicodeFault(text: string): string | undefined {
  return /\p{Surrogate}/u.test(text) ? 'must be well-formed Unicode' : undefined;
}

const TIME_OF_DAY = '(?:[01]\\d|2[0-3]):[0-5]\\d';
const INSTANT = new RegExp(
  `^\\d{4}-\\d\\d-\\d\\dT${TIME_OF_DAY}(?::[0-5]\\d(?:\\.\\d+)?)?(?:Z|[+-]${TIME_OF_DAY})$`,
);

/** Whether a text is a date and time with zone in ISO 8601, of a day that exists. */
function isInstant(text: string): boolean {
  if (!INSTANT.test(text)) return false;
  const year = new Date(text).getUTCFullYear();
  // The engine takes 30 February for 2 March.
  const isDay = new Date(text.slice(0, 10)).getUTCDate() === Number(text.slice(8, 10));
  return isDay && year >= 0 && year <= 9999;
}
