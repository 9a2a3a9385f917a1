import type { Request } from 'express';
import type { ApiKey } from '../api-keys/api-key.schema.js';
import type { ProblemCode } from './problem.js';

/** A request with what the steps on its way have found out about it. */
export interface ApiRequest extends Request {
  requestId: string;
  /** Headers of the answer, collected on the way: Node sends them fastest when all come at once. */
  answerHeaders: Record<string, string>;
  /** Monotonic time of its arrival, in milliseconds. */
  startedAt: number;
  /** Names and values of the query, decoded, as sent: in order, repeated ones included. */
  rawQuery: ReadonlyArray<readonly [name: string, value: string]>;
  /** Whether the target holds broken percent-encoding, broken UTF-8 or characters no URL may have. */
  brokenTarget?: BrokenTarget;
  /** Whether its `Expect` header asks for something other than 100-continue. */
  hasUnmetExpectation?: boolean;
  apiKey?: ApiKey;
  /** What it was answered with when it failed: for the log. */
  problem?: ProblemCode;
  /** Why the key was refused: for the log alone. */
  authFailure?: string;
  /** What the answer was made from: for the log. */
  served?: { readonly source: 'memory' | 'database'; readonly items: number };
}

export interface BrokenTarget {
  readonly path: boolean;
  readonly query: boolean;
}
