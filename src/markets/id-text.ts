import { BSON, ObjectId } from 'mongodb';

/** A stored `_id` of whatever BSON type as text: plain where there is a plain form, else extended JSON. */
export function idText(id: unknown): string {
  if (typeof id === 'string') return id;
  if (id instanceof ObjectId) return id.toHexString();
  if (id instanceof Date && !Number.isNaN(id.getTime())) return id.toISOString();
  if (id instanceof BSON.Binary && id.sub_type === BSON.Binary.SUBTYPE_UUID) {
    return id.toUUID().toString();
  }
  if (typeof id !== 'object' || id === null) return String(id);
  if (id instanceof BSON.Long || id instanceof BSON.Decimal128) return id.toString();
  return BSON.EJSON.stringify(id, { relaxed: true });
}
