import { ApiPropertyOptional } from '@nestjs/swagger';
import { ApiField } from './api-field.decorator.js';
import { PROBLEMS, type ProblemCode } from './problem-codes.js';

export const EXAMPLE_REQUEST_ID = '7c1c2a5e-6f0b-4b39-9c1c-7f7a8f3a2d10';

/** One thing that is wrong with a request, and what would be right. */
export class RequestFault {
  @ApiField('The part of the request that is wrong.', 'query', {
    enum: ['path', 'query', 'header'],
  })
  readonly in!: 'path' | 'query' | 'header';

  @ApiField('Name of the parameter or header.', 'take')
  readonly name!: string;

  @ApiField(
    'What is wrong and what would be right.',
    'must be a whole number from 1 to 100, in plain digits',
  )
  readonly detail!: string;
}

/** The body of every error: problem details as in RFC 9457. */
export class ProblemBody {
  @ApiField('URN of the kind of problem.', 'urn:markets-odds:problem:invalid_request')
  readonly type!: string;

  @ApiField('Name of the kind of problem.', 'Invalid request')
  readonly title!: string;

  @ApiField('HTTP status of the answer.', 400, { type: 'integer' })
  readonly status!: number;

  @ApiField('What went wrong this time and how to correct it.', 'The request has 1 fault.')
  readonly detail!: string;

  @ApiField('Stable name of the kind of problem, for programs.', 'invalid_request', {
    enum: Object.keys(PROBLEMS),
  })
  readonly code!: ProblemCode;

  @ApiField('Id of the request, as in the X-Request-Id header and in the log.', EXAMPLE_REQUEST_ID)
  readonly requestId!: string;

  @ApiPropertyOptional({ description: 'Every fault of the request.', type: [RequestFault] })
  readonly errors?: readonly RequestFault[];
}
