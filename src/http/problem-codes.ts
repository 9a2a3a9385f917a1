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
