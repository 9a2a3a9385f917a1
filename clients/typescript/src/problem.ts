import type { ProblemBody, RequestFault } from './types.gen.js';

/** Codes that pass by themselves: the same request may succeed a moment later. */
const PASSING = new Set([
  'rate_limited',
  'too_many_streams',
  'overloaded',
  'database_unavailable',
  'database_timeout',
]);

const MOVED =
  'The service is elsewhere: set baseUrl to its own address. Redirects are not followed, since the key would come along.';

/** An answer of the service that says what went wrong (RFC 9457). */
export class MarketsProblem extends Error {
  override readonly name = 'MarketsProblem';
  /** Stable name of the kind of problem; `unknown` when something between us and the service answered. */
  readonly code: ProblemBody['code'] | 'unknown';
  readonly status: number;
  /** Every fault of the request, by name. */
  readonly errors: readonly RequestFault[];
  /** What the service calls this request in its log. */
  readonly requestId: string | undefined;
  /** Milliseconds that the service asks to wait. */
  readonly retryAfterMs: number | undefined;

  private constructor({ status, headers, type }: Response, body: Partial<ProblemBody>) {
    // A browser does not tell the status of a redirect.
    const isRedirect = type === 'opaqueredirect' || (status >= 300 && status < 400);
    const answered = isRedirect ? MOVED : `The service answered ${status}.`;
    const errors = faultsOf(body.errors);
    const faults = errors.map(({ name, detail }) => `${name} ${detail}`);
    super([body.detail ?? answered, ...faults].join(' '));
    this.code = body.code ?? 'unknown';
    this.status = status;
    this.errors = errors;
    this.requestId = body.requestId ?? headers.get('X-Request-Id') ?? undefined;
    this.retryAfterMs = retryAfterMs(headers.get('Retry-After'));
  }

  /** @param apiKey does not come into the error, though something on the way sends back what it was sent */
  static async of(response: Response, apiKey: string): Promise<MarketsProblem> {
    const isProblem = response.headers.get('Content-Type')?.startsWith('application/problem+json');
    if (!isProblem) await response.body?.cancel().catch(() => undefined);
    const text = isProblem ? await response.text().catch(() => '') : '';
    return new MarketsProblem(response, bodyOf(text.replaceAll(apiKey, '[api_key]')));
  }

  /** Whether the same request may succeed later. */
  get isPassing(): boolean {
    return (
      PASSING.has(this.code) ||
      (this.code === 'unknown' && (this.status === 429 || this.status >= 502))
    );
  }
}

function bodyOf(text: string): Partial<ProblemBody> {
  try {
    return Object(JSON.parse(text)) as Partial<ProblemBody>;
  } catch {
    return {};
  }
}

/** Gateways have problems, too, whose `errors` may be anything. */
function faultsOf(errors: unknown): RequestFault[] {
  return Array.isArray(errors) ? errors.filter((each) => typeof each?.detail === 'string') : [];
}

/** Seconds or a date (RFC 9110, 10.2.3). */
function retryAfterMs(text: string | null): number | undefined {
  if (!text) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(ms, 0);
}

/** The service could not be reached, or the connection was lost before the answer was whole. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';

  constructor(cause: unknown) {
    super('The connection to the service was lost.', { cause });
  }
}
