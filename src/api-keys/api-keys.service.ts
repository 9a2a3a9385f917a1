import { Injectable } from '@nestjs/common';
import { InjectModel } from '@nestjs/mongoose';
import type { Model } from 'mongoose';
import { StoredApiKey } from './api-key.schema.js';
import { DEMO_KEY } from './demo-key.js';
import { generateKey, hashKey, keyIdOf } from './key-form.js';
import { callerOf, isDate, stateOf } from './key-state.js';

export interface NewKey {
  readonly name: string;
  readonly expiresInMs?: number;
  /** Requests per minute, 0: no limit. Unset: the server's default. */
  readonly rateLimit?: number;
  /** Streams open at a time. Unset: the server's default. */
  readonly streams?: number;
}

/** A key just made: the only moment at which it is seen. */
export interface IssuedKey {
  readonly id: string;
  readonly key: string;
  readonly record: StoredApiKey;
}

/** What was asked can't be done to this key. */
export class KeyFault extends Error {}

/** Makes, lists, revokes and rotates keys. Requests are checked by KeyVerifier. */
@Injectable()
export class ApiKeysService {
  constructor(@InjectModel(StoredApiKey.name) private readonly model: Model<StoredApiKey>) {}

  async create({ name, expiresInMs, rateLimit, streams }: NewKey): Promise<IssuedKey> {
    const createdAt = new Date();
    const expiresAt = expiresInMs ? new Date(createdAt.getTime() + expiresInMs) : undefined;
    return this.issue({ name, createdAt, expiresAt, rateLimit, streams });
  }

  /** All keys, the newest last. */
  async list(): Promise<StoredApiKey[]> {
    return this.model.find().sort({ createdAt: 1, _id: 1 }).lean();
  }

  /** Ends a key for good; one revoked before keeps its time. */
  async revoke(id: string): Promise<StoredApiKey> {
    await this.model.updateOne({ _id: id, revokedAt: null }, { $set: { revokedAt: new Date() } });
    return this.find(id);
  }

  /**
   * Makes a key of the same name, limits and length of life that takes the place of another, which goes on
   * working for the overlap.
   */
  async rotate(id: string, { overlapMs }: { readonly overlapMs: number }): Promise<IssuedKey> {
    const old = await this.find(id);
    const createdAt = new Date();
    demandRotatable(old, createdAt);
    const issued = await this.issue({
      ...limitsOf(old),
      createdAt,
      expiresAt: endAfter(old, createdAt),
      rotatedFrom: id,
    });
    // The new one first: a crash in between leaves a key that nobody knows, not a caller without a key.
    const { matchedCount } = await this.model.updateOne(
      { _id: id, revokedAt: null, rotatedTo: null },
      {
        $set: { rotatedTo: issued.id },
        $min: { expiresAt: new Date(+createdAt + overlapMs) },
      },
    );
    if (matchedCount === 1) return issued;
    await this.model.deleteOne({ _id: issued.id });
    throw new KeyFault('The key was revoked or rotated at this very moment.');
  }

  /** Puts the public demo key in, unless it is there: a revoked one stays revoked. */
  async ensureDemoKey(): Promise<void> {
    await this.model.updateOne(
      { _id: keyIdOf(DEMO_KEY) },
      { $setOnInsert: { name: 'demo', hash: hashKey(DEMO_KEY), createdAt: new Date() } },
      { upsert: true },
    );
  }

  private async issue(fields: Omit<StoredApiKey, '_id' | 'hash'>): Promise<IssuedKey> {
    const key = generateKey();
    const id = keyIdOf(key) ?? '';
    const record = { _id: id, hash: hashKey(key), ...fields };
    await this.model.create(record);
    return { id, key, record };
  }

  private async find(id: string): Promise<StoredApiKey> {
    const record = await this.model.findById(id).lean();
    if (!record) throw new KeyFault('There is no key with this id.');
    return record;
  }
}

const ENDED = {
  revoked: 'The key is revoked.',
  expired: 'The key has expired.',
  unreadable: "The key's record can't be understood: its expiresAt is no date.",
} as const;

function demandRotatable(record: StoredApiKey, now: Date): void {
  const state = stateOf(record, now.getTime());
  if (state === 'revoked') throw new KeyFault(ENDED[state]);
  const { rotatedTo } = record;
  if (rotatedTo) throw new KeyFault(`The key was rotated already: ${rotatedTo} took its place.`);
  if (state !== 'active') throw new KeyFault(ENDED[state]);
}

/** Name and limits of a record, as far as they make sense. */
function limitsOf(record: StoredApiKey): Pick<StoredApiKey, 'name' | 'rateLimit' | 'streams'> {
  const { id, ...limits } = callerOf(record);
  return { ...limits, name: limits.name || id };
}

/** The end of a key made now that lives as long as another; with the other where nobody knows how long that is. */
function endAfter({ createdAt, expiresAt }: StoredApiKey, now: Date): Date | undefined {
  if (!isDate(expiresAt)) return undefined;
  if (!isDate(createdAt)) return expiresAt;
  return new Date(now.getTime() + (expiresAt.getTime() - createdAt.getTime()));
}
