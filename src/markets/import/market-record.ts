import { listFields, type Fields, type StoredFieldRule } from '../stored-field.decorator.js';
import { isDocument } from '../market-view.js';
import { Market, type MARKET_IDENTITY } from '../market.schema.js';
import { fieldFault } from './field-faults.js';

/** A market as an import gives it, checked: it has the fields of a market but `_id`. */
export type MarketRecord = Fields &
  Pick<Market, (typeof MARKET_IDENTITY)[number]> &
  Partial<Pick<Market, 'createdAt' | 'updatedAt'>>;

/** What is wrong with a field, such as `runners[1].price`; the empty field is the record itself. */
export interface Fault {
  readonly field: string;
  readonly reason: string;
}

/** Faults of one record that are listed one by one: it may have millions. */
const FAULTS_MAX = 20;

/** Judges a parsed record by the fields of a market: types are exact, nothing is converted but dates. */
export function checkRecord(value: unknown) {
  const faults: Fault[] = [];
  let more = 0;
  for (const fault of faultsOf(Market, value, '')) {
    if (faults.length < FAULTS_MAX) faults.push(fault);
    else more++;
  }
  if (faults.length === 0) return { record: withDates(value as Fields) };
  if (more > 0) faults.push({ field: '', reason: `and ${more} more` });
  return { faults };
}

function* faultsOf(type: new () => object, value: unknown, path: string): Iterable<Fault> {
  if (!isDocument(value)) {
    yield { field: path, reason: 'must be a JSON object' };
    return;
  }
  const given = new Map<string, unknown>(Object.entries(value));
  const pathOf = (name: string) => (path ? `${path}.${name}` : name);
  for (const rule of listFields(type)) {
    const field = pathOf(rule.name);
    if (given.has(rule.name)) yield* faultsOfField(rule, given.get(rule.name), field);
    else if (!rule.optional && rule.kind !== 'objectId') yield { field, reason: 'is missing' };
    given.delete(rule.name);
  }
  for (const name of given.keys()) {
    yield { field: pathOf(name), reason: `is not a field of a ${type.name.toLowerCase()}` };
  }
}

function* faultsOfField(rule: StoredFieldRule, value: unknown, field: string): Iterable<Fault> {
  const reason = fieldFault(rule, value);
  if (reason !== undefined) yield { field, reason };
  if (!rule.of || !Array.isArray(value)) return;
  for (const [index, item] of value.entries()) yield* faultsOf(rule.of, item, `${field}[${index}]`);
}

function withDates(record: Fields): MarketRecord {
  const dates = listFields(Market).filter(({ kind, name }) => kind === 'date' && record[name]);
  const instants = dates.map(({ name }) => [name, new Date(String(record[name]))]);
  return { ...record, ...Object.fromEntries(instants) } as MarketRecord;
}
