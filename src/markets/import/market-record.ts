import { listFields, type StoredFieldRule } from '../stored-field.decorator.js';
import { isDocument } from '../market-view.js';
import { Market, type MARKET_IDENTITY } from '../market.schema.js';
import { faultOf } from './field-faults.js';

export type Fields = Readonly<Record<string, unknown>>;

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
const MOST_FAULTS = 20;

type Report = (field: string, reason: string) => void;

/** Judges a parsed record by the fields of a market: types are exact, nothing is converted but dates. */
export function checkRecord(value: unknown) {
  const faults: Fault[] = [];
  let count = 0;
  checkObject(Market, value, '', (field, reason) => {
    count++;
    if (count <= MOST_FAULTS) faults.push({ field, reason });
  });
  if (count === 0) return { record: withDates(value as Fields) };
  const more = count - MOST_FAULTS;
  if (more > 0) faults.push({ field: '', reason: `and ${more} more` });
  return { faults };
}

function checkObject(type: new () => object, value: unknown, path: string, report: Report): void {
  if (!isDocument(value)) {
    report(path, 'must be a JSON object');
    return;
  }
  const given = new Map<string, unknown>(Object.entries(value));
  const pathOf = (name: string) => (path ? `${path}.${name}` : name);
  for (const rule of listFields(type)) {
    const field = pathOf(rule.name);
    if (given.has(rule.name)) checkField(rule, given.get(rule.name), field, report);
    else if (!rule.optional && rule.kind !== 'objectId') report(field, 'is missing');
    given.delete(rule.name);
  }
  for (const name of given.keys()) {
    report(pathOf(name), `is not a field of a ${type.name.toLowerCase()}`);
  }
}

function checkField(rule: StoredFieldRule, value: unknown, field: string, report: Report): void {
  const reason = faultOf(rule, value);
  if (reason !== undefined) report(field, reason);
  const { of } = rule;
  if (!of || !Array.isArray(value)) return;
  value.forEach((item, index) => checkObject(of, item, `${field}[${index}]`, report));
}

function withDates(record: Fields): MarketRecord {
  const dates = listFields(Market).filter(({ kind, name }) => kind === 'date' && record[name]);
  const instants = dates.map(({ name }) => [name, new Date(String(record[name]))]);
  return { ...record, ...Object.fromEntries(instants) } as MarketRecord;
}
