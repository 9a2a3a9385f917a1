import { HttpException } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

/** Every `code` an error can have, with its HTTP status and title. */
export const PROBLEMS = {
  invalid_request: { status: 400, title: 'Invalid request' },
  ambiguous_credentials: { status: 400, title: 'Ambiguous credentials' },
  too_much_data: { status: 400, title: 'Too much data' },
  unauthorized: { status: 401, title: 'Unauthorized' },
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  rate_limited: { status: 429, title: 'Too many requests' },
  too_many_streams: { status: 429, title: 'Too many streams' },
  internal_error: { status: 500, title: 'Internal error' },
  database_unavailable: { status: 503, title: 'Database unavailable' },
  changes_unavailable: { status: 503, title: 'Changes unavailable' },
  overloaded: { status: 503, title: 'Overloaded' },
  database_timeout: { status: 504, title: 'Database timeout' },
} as const;

export type ProblemCode = keyof typeof PROBLEMS;

/** In documents. */
export const EXAMPLE_REQUEST_ID = '7c1c2a5e-6f0b-4b39-9c1c-7f7a8f3a2d10';

export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

/** One thing that is wrong with a request, and what would be right. */
export class RequestFault {
  @ApiProperty({
    description: 'The part of the request that is wrong.',
    enum: ['path', 'query', 'header'],
    example: 'query',
  })
  readonly in!: 'path' | 'query' | 'header';

  @ApiProperty({ description: 'Name of the parameter or header.', example: 'take' })
  readonly name!: string;

  @ApiProperty({
    description: 'What is wrong and what would be right.',
    example: 'must be a whole number from 1 to 100, in plain digits',
  })
  readonly detail!: string;
}

/** The body of every error: problem details as in RFC 9457. */
export class ProblemBody {
  @ApiProperty({
    description: 'URN of the kind of problem.',
    example: 'urn:markets-odds:problem:invalid_request',
  })
  readonly type!: string;

  @ApiProperty({ description: 'Name of the kind of problem.', example: 'Invalid request' })
  readonly title!: string;

  @ApiProperty({ description: 'HTTP status of the answer.', type: 'integer', example: 400 })
  readonly status!: number;

  @ApiProperty({
    description: 'What went wrong this time and how to mend it.',
    example: 'The request has 1 fault.',
  })
  readonly detail!: string;

  @ApiProperty({
    description: 'Stable name of the kind of problem, for programs.',
    enum: Object.keys(PROBLEMS),
    example: 'invalid_request',
  })
  readonly code!: ProblemCode;

  @ApiProperty({
    description: 'Id of the request, as in the X-Request-Id header and in the log.',
    example: EXAMPLE_REQUEST_ID,
  })
  readonly requestId!: string;

  @ApiPropertyOptional({
    description: 'Every fault of the request.',
    type: [RequestFault],
  })
  readonly errors?: readonly RequestFault[];
}

export interface ProblemOptions {
  readonly errors?: readonly RequestFault[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Another status under the same code: the HTTP parser has 408, 413, 414, 417 and 431. */
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
    this.headers = headers;
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
}

export function notFound(): Problem {
  return new Problem('not_found', 'There is nothing at this path.');
}

export function methodNotAllowed(allowed = ['GET', 'HEAD']): Problem {
  return new Problem('method_not_allowed', `Only ${allowed.join(' and ')} are offered here.`, {
    headers: { Allow: allowed.join(', ') },
  });
}
