import { Schema, type SchemaOptions } from 'mongoose';
import { listFields, type StoredFieldRule } from './stored-field.decorator.js';

/** Mongoose's schema of a class of stored fields. */
export function storedSchema<T extends object>(
  type: new () => T,
  options: SchemaOptions,
): Schema<T> {
  const fields = listFields(type).filter(({ kind }) => kind !== 'objectId');
  return new Schema<T>(
    Object.fromEntries(fields.map((field) => [field.name, storage(field)])),
    options as object,
  );
}

function storage({ kind, of, optional, values }: StoredFieldRule) {
  if (kind === 'list' && of) {
    const element = storedSchema(of, { _id: false, versionKey: false });
    return { type: [element], required: true };
  }
  const type = { price: Number, date: Date }[kind as string] ?? String;
  return { type, required: !optional, ...(values && { enum: [...values] }) };
}
