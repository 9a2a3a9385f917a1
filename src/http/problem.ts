import { HttpException } from '@nestjs/common';
import type { ProblemBody, RequestFault } from './problem-body.dto.js';
import { PROBLEMS, type ProblemCode } from './problem-codes.js';

export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

/** Statuses of what passes soon: the client is told to try again after a second, unless another time is known. */
const PASSING = [429, 503];
const RETRY_AFTER = { 'Retry-After': '1' };

interface ProblemOptions {
  readonly errors?: readonly RequestFault[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Another status under the same code: those of `PROTOCOL_DETAILS`. */
  readonly status?: number;
}

/** A failure that the caller gets to see, as problem details. */
export class Problem extends HttpException {
  readonly headers: Readonly<Record<string, string>>;
  readonly errors: readonly RequestFault[] | undefined;

  constructor(
    readonly code: ProblemCode,
    readonly detail: string,
    { errors, headers = {}, status }: ProblemOptions = {},
  ) {
    super(detail, status ?? PROBLEMS[code].status);
    this.errors = errors;
    this.headers = { ...(PASSING.includes(this.getStatus()) && RETRY_AFTER), ...headers };
  }

  body(requestId: string): ProblemBody {
    return {
      type: `urn:markets-odds:problem:${this.code}`,
      title: PROBLEMS[this.code].title,
      status: this.getStatus(),
      detail: this.detail,
      code: this.code,
      requestId,
      ...(this.errors && { errors: this.errors }),
    };
  }

  /** The body as it is sent, and the headers that go with it beside those of every answer. */
  answer(requestId: string): { readonly body: string; readonly headers: Record<string, string> } {
    const body = JSON.stringify(this.body(requestId));
    const headers = {
      'Content-Type': PROBLEM_MEDIA_TYPE,
      'Content-Length': String(Buffer.byteLength(body)),
      'Cache-Control': 'no-store',
      ...this.headers,
    };
    return { body, headers };
  }
}

export function notFound(): Problem {
  return new Problem('not_found', 'There is nothing at this path.');
}

export function methodNotAllowed(allowed = ['GET', 'HEAD']): Problem {
  const detail = `Only ${allowed.join(' and ')} requests are served here.`;
  return new Problem('method_not_allowed', detail, { headers: { Allow: allowed.join(', ') } });
}

export function overloaded(): Problem {
  return new Problem('overloaded', 'The service has too much to do. Please try again.');
}

/** What is refused before a route is looked for, by status. */
const PROTOCOL_DETAILS = {
  408: 'The request did not arrive in time.',
  413: 'The chunk extensions are too large.',
  417: 'Expectations other than 100-continue cannot be met.',
  431: 'The request line and headers exceed 16 KiB.',
} as const;

type ProtocolStatus = keyof typeof PROTOCOL_DETAILS;

export const PROTOCOL_STATUSES = Object.keys(PROTOCOL_DETAILS).map(Number) as ProtocolStatus[];

export function refusedByProtocol(status: ProtocolStatus, options?: ProblemOptions): Problem {
  return new Problem('invalid_request', PROTOCOL_DETAILS[status], { ...options, status });
}
