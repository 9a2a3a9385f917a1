import { inputOf } from '../src/http/input/input.js';
import { Problem } from '../src/http/problem.js';
import type { RequestFault } from '../src/http/problem-body.dto.js';
import type { ApiRequest } from '../src/http/api-request.js';
import { readQuery } from '../src/http/raw-query.js';

/** What an input class makes of a query, or the faults that it finds. */
export function readAs<Input extends object>(
  type: new () => Input,
  query: string,
  headers: Record<string, string> = {},
): { input?: Input; faults?: readonly RequestFault[] } {
  const rawHeaders = Object.entries(headers).flat();
  const request = {
    rawQuery: readQuery(`?${query}`),
    rawHeaders,
    headers,
    params: {},
  } as unknown as ApiRequest;
  try {
    return { input: inputOf(request, type) };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { faults: error.errors };
  }
}
