import { applyDecorators } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiResponse } from '@nestjs/swagger';
import { ApiKeyed, header } from '../http/api-problems.decorator.js';
import { MarketsPage } from './markets-page.dto.js';

const headers = {
  ETag: header('Changes if and only if the answer does.', 'W/"0n7Mvu0uIhSIVNtOTV4YQpVQ2nQ"'),
  'Cache-Control': header('Ask again each time, with If-None-Match.', 'private, no-cache'),
};

/** Documents a look-up of markets: its answers, good and bad, and the key it wants. */
export function ApiMarketsPage(summary: string): MethodDecorator {
  return applyDecorators(
    ApiOperation({ summary }),
    ApiOkResponse({ description: 'One page of markets.', type: MarketsPage, headers }),
    ApiResponse({ status: 304, description: 'What you have is up to date.', headers }),
    ApiKeyed(),
  );
}
