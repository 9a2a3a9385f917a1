import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiResponse, ApiSecurity, getSchemaPath } from '@nestjs/swagger';
import { groupBy } from '../common/group-by.js';
import { API_KEY_HEADER, API_KEY_QUERY } from './credentials.js';
import { EXAMPLE_REQUEST_ID, ProblemBody } from './problem-body.dto.js';
import { Problem, PROBLEM_MEDIA_TYPE, PROTOCOL_STATUSES, refusedByProtocol } from './problem.js';
import { PROBLEMS, type ProblemCode } from './problem-codes.js';

/** Headers that problems of a status carry beside those of every answer. */
const HEADERS: Readonly<Record<number, Readonly<Record<string, ReturnType<typeof header>>>>> = {
  401: { 'WWW-Authenticate': header('How to authenticate.') },
  405: { Allow: header('The methods that are offered.') },
  429: { 'Retry-After': header('Seconds to wait.') },
  503: { 'Retry-After': header('Seconds to wait.') },
};

/** Documents the problems that a route can answer with, those of every route among them: one response a status. */
export function ApiProblems(...more: ProblemCode[]): MethodDecorator {
  const codes: ProblemCode[] = ['invalid_request', 'method_not_allowed', ...more, 'overloaded'];
  const byStatus = groupBy(codes, (code) => PROBLEMS[code].status);
  return applyDecorators(
    ApiExtraModels(ProblemBody),
    ...[...byStatus].map(([status, same]) =>
      ApiResponse({
        status,
        description: same.map((code) => `\`${code}\`: ${PROBLEMS[code].title}`).join('; '),
        headers: { ...HEADERS[status], 'Cache-Control': header('Always `no-store`.') },
        content: problemContent(same.map(exampleOf)),
      }),
    ),
    ...PROTOCOL_STATUSES.map((status) => {
      const problem = refusedByProtocol(status);
      const description = `\`${problem.code}\`: ${problem.detail}`;
      return ApiResponse({ status, description, content: problemContent([problem]) });
    }),
  );
}

/** Documents a route that wants a key: the ways to give one, and the problems it shares with other such routes. */
export function ApiKeyed(...more: ProblemCode[]): MethodDecorator {
  return applyDecorators(
    ApiSecurity(API_KEY_HEADER),
    ApiSecurity(API_KEY_QUERY),
    ApiProblems(
      'ambiguous_credentials',
      'unauthorized',
      'not_found',
      'rate_limited',
      'internal_error',
      'database_unavailable',
      'database_timeout',
      ...more,
    ),
  );
}

/** Documents a body that can be any of these problems. */
function problemContent(problems: readonly Problem[]) {
  const examples = problems.map((problem) => {
    const value = problem.body(EXAMPLE_REQUEST_ID);
    return [problem.code, { summary: value.title, value }] as const;
  });
  return {
    [PROBLEM_MEDIA_TYPE]: {
      schema: { $ref: getSchemaPath(ProblemBody) },
      examples: Object.fromEntries(examples),
    },
  };
}

/** Documents a header that the answer always has. */
export function header(description: string, example?: string) {
  return { description, required: true, schema: { type: 'string' as const, example } };
}

/** The true detail depends on the request. */
function exampleOf(code: ProblemCode): Problem {
  return new Problem(code, `What went wrong this time: ${PROBLEMS[code].title.toLowerCase()}.`);
}
