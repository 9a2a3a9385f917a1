import { listFields, type StoredFieldRule } from '../stored-field.decorator.js';
import { Market, type MARKET_IDENTITY } from '../market.schema.js';
import { faultOf } from './field-faults.js';
import { parseInstant } from './instant.js';

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

export type CheckedRecord =
  | { readonly record: MarketRecord; readonly faults?: undefined }
  | { readonly record?: undefined; readonly faults: readonly Fault[] };

/** Faults of one record that are listed one by one. */
const MOST_FAULTS = 20;

/** The faults of one record, which may have millions. */
class Faults {
  readonly told: Fault[] = [];
  private count = 0;

  add(field: string, reason: string): void {
    this.count++;
    if (this.told.length < MOST_FAULTS) this.told.push({ field, reason });
  }

  get all(): readonly Fault[] {
    const more = this.count - this.told.length;
    return more > 0 ? [...this.told, { field: '', reason: `and ${more} more faults` }] : this.told;
  }
}

/** Judges a parsed record by the fields of a market: types are exact, nothing is converted but dates. */
export function checkRecord(value: unknown): CheckedRecord {
  const faults = new Faults();
  const record = checkObject(Market, value, '', faults);
  if (faults.told.length > 0) return { faults: faults.all };
  return { record: record as MarketRecord };
}

function checkObject(
  type: new () => object,
  value: unknown,
  path: string,
  faults: Faults,
): Fields | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    faults.add(path, 'must be a JSON object');
    return undefined;
  }
  const given = new Map<string, unknown>(Object.entries(value));
  const checked: Record<string, unknown> = {};
  const pathOf = (name: string) => (path ? `${path}.${name}` : name);
  for (const rule of listFields(type)) {
    const field = pathOf(rule.name);
    if (given.has(rule.name)) {
      checked[rule.name] = checkField(rule, given.get(rule.name), field, faults);
    } else if (!rule.optional && !rule.generated) {
      faults.add(field, 'is missing');
    }
    given.delete(rule.name);
  }
  for (const name of given.keys()) {
    faults.add(pathOf(name), `is not a field of a ${type.name.toLowerCase()}`);
  }
  return checked;
}

function checkField(rule: StoredFieldRule, value: unknown, field: string, faults: Faults): unknown {
  const reason = faultOf(rule, value);
  if (reason !== undefined) faults.add(field, reason);
  const { kind, of } = rule;
  if (kind === 'date') return typeof value === 'string' ? parseInstant(value) : undefined;
  if (!of || !Array.isArray(value)) return value;
  const items: unknown[] = [];
  for (const [i, item] of value.entries()) {
    const checked = checkObject(of, item, `${field}[${i}]`, faults);
    // A record with faults goes nowhere: it need not take the memory twice.
    if (faults.told.length === 0) items.push(checked);
  }
  return items;
}
