import { hedge } from './hedge.js';
import { ConnectionLost, MarketsProblem } from './problem.js';
import { readEvents, type ServerSentEvent } from './server-sent-events.js';
import type { Transport } from './transport.js';

/**
 * While no try is answered a new one begins so often that prices are true a second after the network is back. Each has
 * more time than the service takes to answer, and there are six at a time at most: browsers open no more connections to
 * a host.
 */
const RECONNECT = { everyMs: 800, eachMs: 4_500 };

/** A stream begins at once, and the service sends something at least every 5 s. */
const BEGINS_WITHIN_MS = 5_000;
export const SILENCE_MS = 10_000;

/**
 * The events of one stream, which is given up when nothing is heard of it.
 * @throws MarketsProblem when it is refused, ConnectionLost when it breaks or the signal ends it
 */
export async function* streamEvents(
  transport: Transport,
  url: string,
  signal: AbortSignal,
): AsyncGenerator<ServerSentEvent> {
  const watchdog = new Watchdog(signal, BEGINS_WITHIN_MS);
  try {
    const accept = { Accept: 'text/event-stream' };
    const open = (each: AbortSignal) => transport.open(url, each, accept);
    const response = await hedge(open, { ...RECONNECT, signal: watchdog.signal });
    const isStream = response.headers.get('Content-Type')?.startsWith('text/event-stream');
    if (!response.body || !isStream) throw new ConnectionLost('no stream');
    yield* readEvents(watchdog.listen(response.body));
  } catch (failure) {
    throw lineFailure(failure);
  } finally {
    watchdog.end();
  }
}

/** The text of an answer, and when it was asked for: while the network is down, that is done again and again. */
export async function readText(
  transport: Transport,
  url: string,
  signal: AbortSignal,
): Promise<{ readonly text: string; readonly askedAt: number }> {
  const watchdog = new Watchdog(signal);
  try {
    const open = async (each: AbortSignal) => {
      const askedAt = performance.now();
      return { askedAt, response: await transport.open(url, each) };
    };
    const { askedAt, response } = await hedge(open, { ...RECONNECT, signal: watchdog.signal });
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of response.body ? watchdog.listen(response.body) : []) {
      text += decoder.decode(chunk, { stream: true });
    }
    return { text, askedAt };
  } catch (failure) {
    throw lineFailure(failure);
  } finally {
    watchdog.end();
  }
}

/** The failure to throw. `fetch` throws a TypeError where a connection breaks in the middle of an answer. */
function lineFailure(failure: unknown): unknown {
  const isOurs = failure instanceof MarketsProblem || failure instanceof ConnectionLost;
  return isOurs ? failure : new ConnectionLost(failure);
}

/** Aborts its signal when nothing is heard for too long. */
class Watchdog {
  readonly #ending = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failure: unknown;

  /** @param beginsWithinMs how soon something has to be heard; without it, that may take as long as it likes */
  constructor(signal: AbortSignal, beginsWithinMs?: number) {
    const options = { once: true, signal: this.signal };
    signal.addEventListener('abort', () => this.#fail(signal.reason), options);
    if (beginsWithinMs !== undefined) this.#expect(beginsWithinMs);
  }

  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /**
   * The chunks of a body. Every byte is a sign of life: a large event takes its time on a slow network.
   * @throws ConnectionLost after too long a silence, or the signal's reason
   */
  async *listen(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
    const reader = body.getReader();
    // The signal of a request that `fetch` has answered does not always end its body.
    const cancel = () => void reader.cancel().catch(() => undefined);
    this.signal.addEventListener('abort', cancel);
    this.#expect(BEGINS_WITHIN_MS);
    for (;;) {
      const { done, value } = await reader.read();
      if (this.#failure !== undefined) throw this.#failure;
      if (done) return;
      this.#expect(SILENCE_MS);
      yield value;
    }
  }

  end(): void {
    this.#fail(new ConnectionLost('ended'));
  }

  #expect(withinMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#fail(new ConnectionLost('silence')), withinMs);
  }

  #fail(failure: unknown): void {
    clearTimeout(this.#timer);
    this.#failure ??= failure;
    this.#ending.abort(failure);
  }
}
