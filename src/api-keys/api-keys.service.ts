import type { Connection } from 'mongoose';
import { API_KEYS } from '../common/collections.js';
import { tellIfSlow } from '../common/tell-if-slow.js';
import { BY_MAJORITY, EXACT_COLLATION } from '../database/driver-options.js';
import type { Caller } from '../http/api-request.js';
import { DEMO_KEY } from './demo-key.js';
import { generateKey, hashKey, keyIdOf } from './key-form.js';
import { successorOf } from './key-rotation.js';
import type { KeyFields, StoredApiKey } from './stored-api-key.js';

/** Ids are compared exactly, whatever the collection's own collation is. */
const EXACT = { collation: EXACT_COLLATION };
const WRITE = { ...EXACT, ...BY_MAJORITY };

export interface NewKey extends Omit<Caller, 'id'> {
  readonly expiresInMs?: number;
}

/** A key that was just made. Its text is not stored, and can never be shown again. */
export interface IssuedKey {
  readonly id: string;
  readonly key: string;
  readonly record: StoredApiKey;
}

/** Shows a new key; if that fails, the key is deleted. */
export type Show = (issued: IssuedKey) => Promise<void>;

/** Makes, lists, revokes and rotates keys. Requests are checked by KeyVerifier. */
export class ApiKeysService {
  /** @param say tells an operator that a write is slow */
  constructor(
    private readonly connection: Connection,
    private readonly say: (message: string) => Promise<void> = async () => undefined,
  ) {}

  async create({ expiresInMs, ...fields }: NewKey, show?: Show): Promise<IssuedKey> {
    const createdAt = new Date();
    const expiresAt = expiresInMs ? new Date(createdAt.getTime() + expiresInMs) : undefined;
    return this.issue({ ...fields, createdAt, expiresAt }, show);
  }

  /** All keys, the newest last, as a majority has them: a key that is shown as revoked stays revoked. */
  async list(): Promise<StoredApiKey[]> {
    return this.records
      .find({}, { ...EXACT, readConcern: 'majority' })
      .sort({ createdAt: 1, _id: 1 })
      .toArray();
  }

  /** Ends a key for good. The time of revocation of a key that is revoked already stays. */
  async revoke(id: string): Promise<StoredApiKey> {
    const active = { _id: id, revokedAt: null };
    const revoked = { $set: { revokedAt: new Date() } };
    await tellIfSlow(() => this.records.updateOne(active, revoked, WRITE), this.say);
    return this.find(id);
  }

  /**
   * Makes a key of the same name, limits and length of life that takes the place of another, which goes on
   * working for the overlap.
   */
  async rotate(id: string, options: { overlapMs: number }, show?: Show): Promise<IssuedKey> {
    const old = await this.find(id);
    const createdAt = new Date();
    const issued = await this.issue(successorOf(old, createdAt), show);
    const endsAt = new Date(createdAt.getTime() + options.overlapMs);
    // The new one first: a crash in between must not leave a caller without a key.
    const active = { _id: id, revokedAt: null, rotatedTo: null };
    // As an expression `$min` passes over a null, which is no expiry; as an update it would keep it.
    const fields = { rotatedTo: issued.id, expiresAt: { $min: ['$expiresAt', endsAt] } };
    const replace = () => this.records.updateOne(active, [{ $set: fields }], WRITE);
    const { matchedCount } = await tellIfSlow(replace, this.say);
    if (matchedCount === 1) return issued;
    await this.deleteUnseenKey(issued.id);
    throw new Error(
      'The key was revoked or rotated at this very moment: the new one does not work.',
    );
  }

  /** Puts the public demo key in, unless it is there: a revoked one stays revoked. */
  async ensureDemoKey(): Promise<void> {
    await this.records.updateOne(
      { _id: keyIdOf(DEMO_KEY) },
      { $setOnInsert: { name: 'demo', hash: hashKey(DEMO_KEY), createdAt: new Date() } },
      { ...WRITE, upsert: true },
    );
  }

  private get records() {
    return this.connection.collection<StoredApiKey>(API_KEYS);
  }

  private async issue(fields: KeyFields, show?: Show): Promise<IssuedKey> {
    const key = generateKey();
    const id = keyIdOf(key) ?? '';
    const record = { _id: id, hash: hashKey(key), ...fields };
    const issued = { id, key, record };
    const insert = () => this.records.insertOne(record, { ignoreUndefined: true, ...BY_MAJORITY });
    await tellIfSlow(insert, this.say);
    try {
      await show?.(issued);
    } catch (error) {
      await this.deleteUnseenKey(id);
      throw error;
    }
    return issued;
  }

  private async deleteUnseenKey(id: string): Promise<void> {
    try {
      await this.records.deleteOne({ _id: id }, WRITE);
    } catch (error) {
      throw new Error(`Key ${id} may work, though nobody has seen it: please revoke it.`, {
        cause: error,
      });
    }
  }

  private async find(id: string): Promise<StoredApiKey> {
    const record = await this.records.findOne({ _id: id }, EXACT);
    if (!record) throw new Error('There is no key with this id, the 12 characters after mos_.');
    return record;
  }
}
