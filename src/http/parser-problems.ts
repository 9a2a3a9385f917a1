import { Problem } from './problem.js';

/** What is refused before a route is looked for, by status. */
const DETAILS = {
  408: 'The request did not arrive in time.',
  413: 'The chunk extensions are too large.',
  417: 'Expectations other than 100-continue cannot be met.',
  431: 'The request line and headers exceed 16 KiB.',
} as const;

type Status = keyof typeof DETAILS;

export const PARSER_STATUSES = Object.keys(DETAILS).map(Number) as Status[];

export function refusedByParser(status: Status, headers?: Record<string, string>): Problem {
  return new Problem('invalid_request', DETAILS[status], { status, headers });
}
