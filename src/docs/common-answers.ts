import { getSchemaPath, type OpenAPIObject } from '@nestjs/swagger';
import { PROBLEM_MEDIA_TYPE, ProblemBody } from '../common/problem.js';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;
type Answer = Extract<Operation['responses'][string], { description: string }>;

/** What the HTTP parser refuses, whatever the route. */
const REFUSED_BY_PARSER: Record<string, string> = {
  408: 'The request did not arrive in time',
  413: 'Chunk extensions are too large',
  417: 'Expectations other than 100-continue cannot be met',
  431: 'The request line and headers exceed 16 KiB',
};

/** Which answers count against the key's limit, and tell how far it is used up. */
const COUNTED = ['200', '304', '400', '429'];

const text = (description: string, example: string) => ({
  description,
  schema: { type: 'string' as const, example },
});

const REQUEST_ID = {
  ...text(
    "The request's own id if it was sane, else a new one; it is in the log, too.",
    '7c1c2a5e-6f0b-4b39-9c1c-7f7a8f3a2d10',
  ),
  required: true,
};

const RATE_LIMIT = {
  'RateLimit-Policy': text('Requests allowed per minute and key.', '"default";q=600;w=60'),
  RateLimit: text('What is left of them, and seconds until all are back.', '"default";r=599;t=60'),
};

/** Adds what holds for every operation: answers of the HTTP parser, and headers. */
export function addCommonAnswers(document: OpenAPIObject): OpenAPIObject {
  for (const { get: operation } of Object.values(document.paths)) {
    if (!operation) continue;
    operation.security ??= [];
    for (const [status, what] of Object.entries(REFUSED_BY_PARSER)) {
      operation.responses[status] = {
        description: `\`invalid_request\`: ${what}`,
        content: { [PROBLEM_MEDIA_TYPE]: { schema: { $ref: getSchemaPath(ProblemBody) } } },
      };
    }
    for (const [status, answer] of Object.entries(operation.responses) as [string, Answer][]) {
      answer.headers = {
        ...answer.headers,
        'X-Request-Id': REQUEST_ID,
        ...(operation.security.length > 0 && COUNTED.includes(status) && RATE_LIMIT),
      };
    }
  }
  return document;
}
