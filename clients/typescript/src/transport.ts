import { EtagCache } from './etag-cache.js';
import { onAbort } from './on-abort.js';
import { ConnectionLost, MarketsProblem } from './problem.js';
import { ID_NAMES } from './query.js';
import { isPassing, sleep, waitMs } from './waiting.js';

export interface ClientOptions {
  /** Where the service is, such as `https://odds.example.com`. */
  readonly baseUrl: string;
  /** Sent in the header `X-API-Key`, and nowhere else. */
  readonly apiKey: string;
  /** Answers remembered so that polling costs a 304; default 500. */
  readonly etagCacheEntries?: number | undefined;
  /** In the place of the platform's `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

export interface CallOptions {
  /** Ends the call; until then passing failures are tried again. Without it that goes on for 30 s. */
  readonly signal?: AbortSignal | undefined;
}

type QueryValue = string | number | readonly string[] | undefined;

/** Of these lists the service needs one, so others may be empty. */
const MAY_BE_EMPTY: readonly string[] = ID_NAMES;

/** How long passing failures are tried again where the caller gives no signal. */
const PATIENCE_MS = 30_000;

/** The service answers within 2.5 s, whatever happens to it: later, the connection is dead. */
const ANSWER_WITHIN_MS = 10_000;

/** Requests with the key in the header, tried again as long as failures pass by themselves. */
export class Transport {
  readonly #base: URL;
  readonly #key: string;
  readonly #fetch: typeof globalThis.fetch;
  readonly #etags: EtagCache;

  constructor({
    baseUrl,
    apiKey,
    etagCacheEntries = 500,
    fetch = globalThis.fetch,
  }: ClientOptions) {
    if (!apiKey) throw new TypeError('apiKey is missing');
    // The errors of fetch() quote a bad header value or URL, which may hold a secret.
    if (!/^[\x21-\x7e]+$/.test(apiKey)) throw new TypeError('apiKey must be printable ASCII');
    const base = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
    const isHttp = base?.protocol === 'http:' || base?.protocol === 'https:';
    if (!isHttp || base.username || base.password || base.search) {
      throw new TypeError('baseUrl must be an http(s) URL without credentials or query');
    }
    base.pathname = base.pathname.replace(/\/*$/, '/');
    this.#base = base;
    this.#key = apiKey;
    this.#fetch = (...args) => fetch(...args);
    this.#etags = new EtagCache(etagCacheEntries);
  }

  /** An answer's JSON; one that did not change comes out of memory. */
  async json<T>(
    path: string,
    query: Record<string, QueryValue>,
    options: CallOptions = {},
  ): Promise<T> {
    const url = this.url(path, query);
    const ask = async () => answerOf(await this.#text(url, options.signal));
    return (await this.#tryAgain(ask, options.signal)) as T;
  }

  /** One try, as it comes: for streams. */
  async open(
    url: string,
    signal: AbortSignal,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    // Node's types don't know `cache`, without which a browser answers from its own.
    const request: RequestInit & { cache: 'no-store' } = {
      headers: { ...headers, 'X-API-Key': this.#key },
      signal,
      // A redirect to another host would take the key along. It is told apart from a lost connection.
      redirect: 'manual',
      credentials: 'omit',
      cache: 'no-store',
    };
    const response = await this.#fetch(url, request).catch((error: unknown) => {
      throw new ConnectionLost(error);
    });
    if (response.ok || response.status === 304) return response;
    throw await MarketsProblem.of(response, this.#key);
  }

  /**
   * @throws URIError for half a surrogate pair: `searchParams` would ask for another id in its place
   * @throws RangeError for a filter that is an empty list: without it all markets would come
   * @throws TypeError for what a caller without types may give in place of text, such as null
   */
  url(path: string, query: Record<string, QueryValue>): string {
    const url = new URL(path, this.#base);
    const parts = Object.entries(query).flatMap(([name, value]) => {
      if (Array.isArray(value) && value.length === 0 && !MAY_BE_EMPTY.includes(name)) {
        throw new RangeError(`${name} is an empty list: leave it out for all`);
      }
      const values = value === undefined ? [] : [value].flat();
      if (!values.every((each) => typeof each === 'string' || typeof each === 'number')) {
        throw new TypeError(`${name} must be text or a number`);
      }
      return values.map((each) => `${name}=${encodeURIComponent(each)}`);
    });
    url.search = parts.join('&');
    return url.href;
  }

  async #text(url: string, signal?: AbortSignal): Promise<string> {
    const ending = new AbortController();
    const timer = setTimeout(() => ending.abort('no answer'), ANSWER_WITHIN_MS);
    const leave = signal && onAbort(signal, () => ending.abort(signal.reason));
    try {
      return await this.#answer(url, ending.signal);
    } finally {
      clearTimeout(timer);
      leave?.();
    }
  }

  async #answer(url: string, signal: AbortSignal): Promise<string> {
    const known = this.#etags.get(url);
    const response = await this.open(url, signal, known && { 'If-None-Match': known.etag });
    if (response.status === 304 && known) return known.text;
    const isJson = response.headers.get('Content-Type')?.startsWith('application/json');
    if (!isJson) throw somebodyElse();
    const text = await response.text().catch((error: unknown) => {
      throw new ConnectionLost(error);
    });
    this.#etags.set(url, response.headers.get('ETag'), text);
    return text;
  }

  async #tryAgain<T>(once: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const giveUpAt = signal ? Infinity : performance.now() + PATIENCE_MS;
    for (let attempt = 0; ; attempt += 1) {
      signal?.throwIfAborted();
      try {
        return await once();
      } catch (failure) {
        const ms = waitMs(failure, attempt);
        if (!isPassing(failure) || performance.now() + ms > giveUpAt) throw failure;
        await sleep(ms, signal);
      }
    }
  }
}

/** @throws ConnectionLost when it is no answer of the service */
function answerOf(text: string): unknown {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    throw somebodyElse();
  }
  if (!Array.isArray((answer as { data?: unknown } | null)?.data)) throw somebodyElse();
  return answer;
}

const somebodyElse = () => new ConnectionLost('somebody else answered');
