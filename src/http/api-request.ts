import type { Request, Response } from 'express';
import type { ProblemCode } from './problem-codes.js';

/**
 * Names and values of a query, decoded, as sent: in order, repeated ones included. What can't be decoded, or holds
 * characters that no URL may have, stays as it is and is marked as broken.
 */
export type RawQuery = ReadonlyArray<
  readonly [name: string, value: string, broken?: 'name' | 'value']
>;

/** Who asks: a key, as far as a request needs to know it. */
export interface Caller {
  readonly id: string;
  readonly name: string;
  /** Requests per minute, 0: no limit. Unset: the server's default. */
  readonly rateLimit?: number;
  /** Streams open at a time. Unset: the server's default. */
  readonly streams?: number;
}

/** A request with what the steps on its way have found out about it. */
export interface ApiRequest extends Request {
  requestId: string;
  /** Headers of this answer alone, collected on the way: Node sends them fastest when all come at once. */
  answerHeaders: Record<string, string>;
  /** When it came; of a pipelined one: when the answer before it was sent. Monotonic milliseconds. */
  startedAt: number;
  rawQuery: RawQuery;
  /** Whether it came in by the admin port. */
  onAdminPort?: boolean;
  /** Whether its `Expect` header asks for something other than 100-continue. */
  hasUnmetExpectation?: boolean;
  /** If it was answered with a stream: how many events were written so far, and why it ended, once it has. */
  stream?: { readonly events: number; readonly reason: string | undefined };
  apiKey?: Caller;
  /** The code of the problem that it was answered with: for log and metrics. */
  problem?: ProblemCode;
  /** Why the key was refused: for log and metrics, never for the caller. */
  authFailure?: string;
  /** The id of a refused key whose secret was right: for the log. */
  endedKeyId?: string;
  /** What the answer was made from: for log and metrics. */
  served?: { readonly source: 'memory' | 'database'; readonly items: number };
}

/** A request whose key is good: what the handlers of protected routes get. */
export type KeyedRequest = ApiRequest & { readonly apiKey: Caller };

export type RequestListener = (request: ApiRequest, response: Response) => void;
