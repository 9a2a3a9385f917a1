import { applyDecorators } from '@nestjs/common';
import { ApiSecurity } from '@nestjs/swagger';
import { ApiProblems } from './api-problems.decorator.js';
import { API_KEY_HEADER, API_KEY_QUERY } from './credentials.js';
import type { ProblemCode } from './problem-codes.js';

/** Documents a route that wants a key: the ways to give one, and the problems it shares with other such routes. */
export function ApiKeyed(...more: ProblemCode[]): MethodDecorator {
  return applyDecorators(
    ApiSecurity(API_KEY_QUERY),
    ApiSecurity(API_KEY_HEADER),
    ApiProblems(
      'invalid_request',
      'ambiguous_credentials',
      'unauthorized',
      'not_found',
      'method_not_allowed',
      'rate_limited',
      'internal_error',
      'database_unavailable',
      'overloaded',
      'database_timeout',
      ...more,
    ),
  );
}
