import type { OpenAPIObject } from '@nestjs/swagger';
import { header } from '../http/api-problems.decorator.js';
import { EXAMPLE_REQUEST_ID } from '../http/problem-body.dto.js';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;
type Answer = Extract<Operation['responses'][string], { description: string }>;

/** Answers whose headers are documented to tell how far the key's limit is used up. */
const COUNTED = ['200', '304', '400', '429'];

const REQUEST_ID = header(
  "The request's own id if it is up to 64 letters, digits and `_.:-`, else a new one. It is in the log, too.",
  EXAMPLE_REQUEST_ID,
);

/** Not there where a key has no limit. */
const RATE_LIMIT = {
  'RateLimit-Policy': {
    ...header('Requests allowed per minute and key.', '"default";q=600;w=60'),
    required: false,
  },
  RateLimit: {
    ...header('What is left of them, and seconds until all are back.', '"default";r=599;t=60'),
    required: false,
  },
};

/** Adds the headers that every operation has. */
export function addCommonHeaders(document: OpenAPIObject): OpenAPIObject {
  for (const { get: operation } of Object.values(document.paths)) {
    if (!operation) continue;
    operation.security ??= [];
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
