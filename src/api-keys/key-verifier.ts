import { Injectable } from '@nestjs/common';
import type { Socket } from 'node:net';
import { Config } from '../config.js';
import type { Caller } from '../http/api-request.js';
import { DEMO_KEY } from './demo-key.js';
import { keyIdOf, matchesHash, parseKey, type PresentedKey } from './key-form.js';
import { isTrusted, type KnownKey } from './key-reader.js';
import { KeyRecords } from './key-records.js';
import { callerOf, ENDED_STATES, stateOf } from './stored-api-key.js';

/** Why a key is refused: for log and metrics, never for the caller. */
export const REFUSALS = ['malformed', 'unknown', ...ENDED_STATES, 'demo'] as const;

/** The caller of a good key, or why a key is refused. */
export type Verdict = Caller | (typeof REFUSALS)[number];

const DEMO_KEY_ID = keyIdOf(DEMO_KEY);

const LAST_KEY = Symbol('last key');

/** A connection keeps its last key, since most bring the same one each time. A WeakMap of thousands costs far more. */
type KeyedSocket = Socket & { [LAST_KEY]?: PresentedKey };

/** Tells good keys from others, from memory as far as possible. */
@Injectable()
export class KeyVerifier {
  constructor(
    private readonly records: KeyRecords,
    private readonly config: Config,
  ) {}

  /**
   * The caller of a key that memory knows to be good.
   * @param socket the connection that brought it
   */
  recall(text: string, socket?: KeyedSocket): Caller | undefined {
    const key = this.parse(text, socket);
    const verdict = key && this.checkInMemory(key, this.records.recall(key.id));
    return typeof verdict === 'object' ? verdict : undefined;
  }

  /**
   * Checks a key, without MongoDB if memory can tell. For a limited client MongoDB is asked only if the key was good
   * when last seen; any other key counts as unknown, and is read in the background, so that memory knows it soon.
   * @param socket the connection that brought it
   * @param isLimited whether the client has sent too many bad keys
   * @throws Problem when MongoDB can't tell
   */
  async check(text: string, socket?: KeyedSocket, isLimited = false): Promise<Verdict> {
    const key = this.parse(text, socket);
    if (!key) return 'malformed';
    const known = this.records.recall(key.id);
    const verdict = this.checkInMemory(key, known);
    if (verdict !== undefined) return verdict;
    if (isLimited && !(known && typeof judge(known, key) === 'object')) {
      this.records.readLater(key.id);
      return 'unknown';
    }
    return judge(await this.records.read(key.id), key);
  }

  /** Whether a key that was good is so no longer, as far as can be told. */
  async hasEnded(id: string): Promise<boolean> {
    const known = await this.records.read(id).catch(() => this.records.recall(id));
    return known !== undefined && !(known.record && stateOf(known.record) === 'active');
  }

  private parse(text: string, socket?: KeyedSocket): PresentedKey | undefined {
    const key = parseKey(text, socket?.[LAST_KEY]);
    if (key && socket) socket[LAST_KEY] = key;
    return key;
  }

  private checkInMemory(key: PresentedKey, known: KnownKey | undefined): Verdict | undefined {
    // The demo key is public. On any other database it is refused, even if its record is there.
    if (key.id === DEMO_KEY_ID && !this.config.isEmbedded) return 'demo';
    return known && isTrusted(known) ? judge(known, key) : undefined;
  }
}

function judge({ record }: KnownKey, key: PresentedKey): Verdict {
  if (!record || !matchesHash(key, record.hash)) return 'unknown';
  const state = stateOf(record);
  return state === 'active' ? callerOf(record) : state;
}
