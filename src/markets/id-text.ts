import { BSON, ObjectId } from 'mongodb';

const UUID_BYTES = 16;

/** A stored `_id` of whatever BSON type as text: plain where there is a plain form, else extended JSON. */
export function idText(id: unknown): string {
  if (typeof id === 'string') return id;
  if (id instanceof ObjectId) return id.toHexString();
  if (id instanceof Date && !Number.isNaN(id.getTime())) return id.toISOString();
  if (isUuid(id)) return id.toUUID().toString();
  if (typeof id !== 'object' || id === null) return String(id);
  if (id instanceof BSON.Long || id instanceof BSON.Decimal128) return id.toString();
  try {
    return BSON.EJSON.stringify(id, { relaxed: true });
  } catch {
    // A document with a field `_bsontype` is taken for one of the driver's types, and EJSON throws.
    return JSON.stringify(id);
  }
}

/** Others may store an id of this type with fewer bytes than a UUID has. */
function isUuid(id: unknown): id is BSON.Binary {
  const isBinary = id instanceof BSON.Binary && id.sub_type === BSON.Binary.SUBTYPE_UUID;
  return isBinary && id.length() === UUID_BYTES;
}
