/**
 * What a stored field holds: `text` (not empty), `exact` (text by the rule of ids), `price` (a finite number above 0),
 * `date` (a BSON date, ISO 8601 outside), `objectId` (made by MongoDB: a record may not have it), `list` (of
 * sub-documents).
 */
type FieldKind = 'text' | 'exact' | 'price' | 'date' | 'objectId' | 'list';

interface FieldOptions {
  /** The values that a record may have. Other writers' unknown values are served all the same. */
  readonly values?: readonly string[];
  /** A record may lack it. */
  readonly optional?: boolean;
  /** Class of the elements of a `list`. */
  readonly of?: new () => object;
}

export interface StoredFieldRule extends FieldOptions {
  readonly name: string;
  readonly kind: FieldKind;
  readonly description: string;
  readonly example: unknown;
}

/** A document or a part of it, whatever its fields hold. */
export type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = new Map<object, readonly StoredFieldRule[]>();

/** The fields of a class, in the order of their declaration. */
export function listFields(type: object): readonly StoredFieldRule[] {
  return fieldsOf.get(type) ?? [];
}

/**
 * Declares a stored field, once: what Mongoose stores, what OpenAPI documents, what an answer shows and
 * what an imported record must satisfy are derived from it.
 */
export function StoredField(
  kind: FieldKind,
  description: string,
  example: unknown,
  options: FieldOptions = {},
): PropertyDecorator {
  return (target, key) => {
    const field: StoredFieldRule = { name: String(key), kind, description, example, ...options };
    fieldsOf.set(target.constructor, [...listFields(target.constructor), field]);
  };
}
