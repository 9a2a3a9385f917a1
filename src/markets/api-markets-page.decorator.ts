import { applyDecorators } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiResponse, ApiSecurity } from '@nestjs/swagger';
import { ApiProblems } from '../http/api-problems.decorator.js';
import { API_KEY_HEADER, API_KEY_QUERY } from '../http/credentials.js';
import { MarketsPage } from './markets-page.dto.js';

const header = (description: string, example: string) => ({
  description,
  schema: { type: 'string' as const, example },
});

const headers = {
  ETag: header('Changes if and only if the answer does.', 'W/"0n7Mvu0uIhSIVNtOTV4YQpVQ2nQ"'),
  'Cache-Control': header('Ask again each time, with If-None-Match.', 'private, no-cache'),
};

/** Documents a look-up of markets: its answers, good and bad, and the key it wants. */
export function ApiMarketsPage(summary: string): MethodDecorator {
  return applyDecorators(
    ApiOperation({ summary }),
    ApiSecurity(API_KEY_QUERY),
    ApiSecurity(API_KEY_HEADER),
    ApiOkResponse({ description: 'One page of markets.', type: MarketsPage, headers }),
    ApiResponse({ status: 304, description: 'What you have is up to date.', headers }),
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
    ),
  );
}
