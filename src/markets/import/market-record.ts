import { listFields, type StoredFieldRule } from '../../common/field.decorator.js';
import { ID_RULE, isId } from '../../common/id-rule.js';
import { Market } from '../market.schema.js';
import { parseInstant } from './instant.js';

/** A market as an import gives it. */
export type MarketRecord = Omit<Market, '_id' | 'createdAt' | 'updatedAt'> &
  Partial<Pick<Market, 'createdAt' | 'updatedAt'>>;

/** What is wrong with a field, such as `runners[1].price`; the empty field is the record itself. */
export interface Fault {
  readonly field: string;
  readonly reason: string;
}

export type CheckedRecord =
  | { readonly record: MarketRecord; readonly faults?: undefined }
  | { readonly record?: undefined; readonly faults: readonly Fault[] };

type Fields = Record<string, unknown>;

/** Judges a parsed record by the fields of a market: types are exact, nothing is converted but dates. */
export function checkRecord(value: unknown): CheckedRecord {
  const faults: Fault[] = [];
  const record = checkObject(Market, value, '', faults);
  if (faults.length > 0) return { faults };
  // Every field has been judged by the list that the class is declared with.
  return { record: record as unknown as MarketRecord };
}

function checkObject(
  type: new () => object,
  value: unknown,
  path: string,
  faults: Fault[],
): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    faults.push({ field: path, reason: 'must be a JSON object' });
    return {};
  }
  const given = new Map(Object.entries(value));
  const checked: Fields = {};
  for (const rule of listFields(type)) {
    const field = path ? `${path}.${rule.name}` : rule.name;
    if (given.has(rule.name)) {
      checked[rule.name] = checkField(rule, given.get(rule.name), field, faults);
    } else if (!rule.optional && !rule.generated) {
      faults.push({ field, reason: 'is missing' });
    }
    given.delete(rule.name);
  }
  for (const unknown of given.keys()) {
    const field = path ? `${path}.${unknown}` : unknown;
    faults.push({ field, reason: `is not a field of a ${type.name.toLowerCase()}` });
  }
  return checked;
}

function checkField(
  rule: StoredFieldRule,
  value: unknown,
  field: string,
  faults: Fault[],
): unknown {
  if (rule.kind === 'list' && Array.isArray(value)) {
    return value.map((item, i) => checkItem(rule, item, `${field}[${i}]`, faults));
  }
  if (rule.kind === 'date') {
    const instant = parseInstant(value);
    if (instant) return instant;
  }
  const reason = faultOf(rule, value);
  if (reason) faults.push({ field, reason });
  return value;
}

function checkItem(rule: StoredFieldRule, item: unknown, path: string, faults: Fault[]): unknown {
  return rule.of ? checkObject(rule.of, item, path, faults) : item;
}

function faultOf({ kind, values, generated, optional }: StoredFieldRule, value: unknown) {
  if (generated) return 'is made by MongoDB and must not be given';
  if (value === null) return optional ? 'must not be null: leave it out' : 'must not be null';
  switch (kind) {
    case 'id':
      if (!isId(value)) return `must be text of ${ID_RULE}`;
      return unicodeFault(value);
    case 'text':
      if (values && !values.some((allowed) => allowed === value)) {
        return `must be ${values.length > 1 ? 'one of ' : ''}${values.join(', ')}`;
      }
      if (typeof value !== 'string' || value === '') return 'must be text that is not empty';
      return unicodeFault(value);
    case 'price':
      if (typeof value === 'number' && Number.isFinite(value) && value > 0) return undefined;
      return 'must be a finite number above 0';
    case 'date':
      return 'must be a date and time with zone in ISO 8601, such as 2026-11-21T07:03:00.044Z';
    case 'list':
      return 'must be a list';
    case 'objectId':
      return 'must not be given';
  }
}

/** Half a surrogate pair would be stored as another character. */
function unicodeFault(text: string): string | undefined {
  return /\p{Surrogate}/u.test(text) ? 'must be well-formed Unicode' : undefined;
}
