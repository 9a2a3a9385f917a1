import { onAbort } from './on-abort.js';
import { ConnectionLost, MarketsProblem } from './problem.js';
import type { Group, Scope, WatchQuery } from './query.js';
import { readText, SILENCE_MS, streamEvents } from './line.js';
import type { ServerSentEvent } from './server-sent-events.js';
import type { Transport } from './transport.js';
import type { Market } from './types.gen.js';
import { isPassing, sleep, waitMs } from './waiting.js';
import { WatchEvents, type WatchEvent } from './watch-events.js';
import { WatchState } from './watch-state.js';

export interface WatchOptions {
  /** Ends the watch. */
  readonly signal?: AbortSignal | undefined;
  /** How often to ask where streams don't pass, in milliseconds; default 2,000. Each costs a request per ten ids. */
  readonly pollMs?: number | undefined;
  /** The service gathers changes for so long, 0 to 10,000 ms; default 0. */
  readonly conflateMs?: number | undefined;
}

/** Problems that refuse a stream for now, while `/changes` can still be asked. */
const NO_STREAM = ['changes_unavailable', 'too_many_streams'];

/** After polling for so long a stream is tried again. */
const STREAM_AGAIN_MS = 60_000;

/** After an overload a stream is tried sooner: beside a process that is full there may be another. */
const OVERLOADED_AGAIN_MS = 10_000;

const RECONNECT_JITTER_MS = 500;

/** How long to wait after the end of a stream that didn't say. */
const RETRY_MS = 1_000;

/**
 * A live map of markets for each watched id, and every change in turn, also over cuts. The watch resumes by the
 * service's cursor; what it can't apply is asked for anew as a whole.
 */
export class Watch implements AsyncIterable<WatchEvent> {
  readonly #transport: Transport;
  readonly #query: WatchQuery;
  readonly #state: WatchState;
  readonly #options: WatchOptions;
  readonly #events = new WatchEvents();
  readonly #closing = new AbortController();
  #cursor: string | undefined;
  #standing: 'connecting' | 'current' | 'late' = 'connecting';
  #currentAsOf = -Infinity;
  #failure: Error | undefined;
  #retryMs = RETRY_MS;
  #pollUntil = -Infinity;
  /** Whether a poll was answered since a stream last worked. */
  #hasPolled = false;

  constructor(transport: Transport, query: WatchQuery, options: WatchOptions = {}) {
    this.#transport = transport;
    // A program may use its object for another watch before this one reconnects.
    this.#query = structuredClone(query);
    this.#state = new WatchState(query);
    this.#options = options;
    const { signal } = options;
    if (signal?.aborted) this.close();
    else if (signal) {
      const leave = onAbort(signal, () => this.close());
      this.#closing.signal.addEventListener('abort', leave, { once: true });
    }
    void this.#follow();
  }

  /** The markets of a watched id by `_id`: the same map for ever, which changes as the odds do. */
  markets(scope: Scope): ReadonlyMap<string, Market> {
    return this.#state.markets(scope);
  }

  /**
   * `current`: nothing older than `ageMs` is missing. `late`, `connecting`: more may have changed.
   * `closed`: it has ended.
   */
  get status(): 'connecting' | 'current' | 'late' | 'closed' {
    return this.#closing.signal.aborted ? 'closed' : this.#standing;
  }

  /** All that was written more than so many milliseconds ago is in the maps. */
  get ageMs(): number {
    return performance.now() - this.#currentAsOf;
  }

  /** Why it is not current, as far as that is known: `MarketsProblem` or `ConnectionLost`. Undefined while it is. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  close(): void {
    this.#closing.abort(new DOMException('The watch is closed', 'AbortError'));
    this.#events.end();
  }

  [Symbol.asyncIterator](): AsyncIterator<WatchEvent, undefined> {
    return {
      next: () => this.#events.next(),
      return: async () => {
        this.close();
        return { done: true, value: undefined };
      },
    };
  }

  async #follow(): Promise<void> {
    const { signal } = this.#closing;
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      const began = this.#currentAsOf;
      try {
        if (performance.now() < this.#pollUntil) await this.#poll();
        else await this.#stream();
        attempt = -1;
        await sleep(this.#retryMs, signal);
      } catch (failure) {
        if (signal.aborted) return;
        if (this.#currentAsOf > began) attempt = 0;
        await this.#recover(failure, attempt).catch(() => undefined);
      }
    }
  }

  /** Waits as the failure asks, or ends the watch when trying again can't help. */
  async #recover(failure: unknown, attempt: number): Promise<void> {
    this.#notCurrent();
    this.#failure = failure as Error;
    const { signal } = this.#closing;
    if (failure instanceof MarketsProblem && NO_STREAM.includes(failure.code)) {
      this.#pollUntil = performance.now() + STREAM_AGAIN_MS;
    } else if (failure instanceof TypeError || failure instanceof SyntaxError) {
      this.#cursor = undefined;
      await sleep(waitMs(failure, attempt), signal);
    } else if (failure instanceof ConnectionLost && attempt === 0) {
      await sleep(Math.random() * RECONNECT_JITTER_MS, signal);
    } else if (isPassing(failure)) {
      await sleep(waitMs(failure, attempt), signal);
    } else {
      this.#giveUp(failure);
    }
  }

  #giveUp(failure: unknown): void {
    this.#failure = failure as Error;
    this.#events.end(failure);
    this.#closing.abort(failure);
  }

  /** A query that can't be asked is the caller's error, and would be one each time: it ends the watch. */
  #url(path: string, conflateMs?: number): string {
    try {
      return this.#transport.url(path, { ...this.#query, conflateMs, since: this.#cursor });
    } catch (failure) {
      this.#giveUp(failure);
      throw failure;
    }
  }

  async #stream(): Promise<void> {
    const url = this.#url('v1/markets/stream', this.#options.conflateMs);
    const { signal } = this.#closing;
    // The first one may be all that a proxy lets through.
    let toldCurrent = 0;
    try {
      for await (const event of streamEvents(this.#transport, url, signal)) {
        if (event.retryMs !== undefined) this.#retryMs = event.retryMs;
        this.#take(event);
        if (event.event === 'current') toldCurrent += 1;
        if (event.event === 'end') return;
      }
      throw new ConnectionLost('the stream ended without a word');
    } catch (failure) {
      if (failure instanceof ConnectionLost && toldCurrent < 2) this.#streamInVain();
      if (failure instanceof MarketsProblem && failure.code === 'overloaded')
        this.#pollUntil = performance.now() + OVERLOADED_AGAIN_MS;
      throw failure;
    } finally {
      if (toldCurrent > 1) this.#hasPolled = false;
    }
  }

  /** A poll shows whether only streams fail, as behind a proxy that buffers answers, or the network is down. */
  #streamInVain(): void {
    this.#pollUntil = this.#hasPolled ? performance.now() + STREAM_AGAIN_MS : Infinity;
  }

  #take({ event, id, data }: ServerSentEvent): void {
    if (event === 'changes') this.#apply((JSON.parse(data) as { data?: Group[] }).data);
    if (event === 'current') this.#current((JSON.parse(data) as { ageMs?: number }).ageMs);
    if (event === 'late') this.#notCurrent('late');
    // Only now: a cursor stands for all that came before it, and changes without one for no state to go on from.
    if (id || event === 'changes') this.#cursor = id;
  }

  async #poll(): Promise<void> {
    const url = this.#url('v1/markets/changes');
    // It is asked anew until there is an answer, so that no failure tells of a network that is down.
    const late = setTimeout(() => this.#notCurrent(), SILENCE_MS);
    const asking = readText(this.#transport, url, this.#closing.signal);
    const { text, askedAt } = await asking.finally(() => clearTimeout(late));
    const { data, meta } = JSON.parse(text) as {
      data?: Group[];
      meta?: { cursor?: string; ageMs?: number };
    };
    this.#apply(data);
    this.#cursor = meta?.cursor;
    // The answer is of some moment after the question: how long it was on its way is not known.
    this.#current((meta?.ageMs ?? 0) + performance.now() - askedAt);
    this.#retryMs = this.#options.pollMs ?? 2_000;
    this.#hasPolled = true;
    if (this.#pollUntil === Infinity) {
      this.#pollUntil = -Infinity;
      this.#retryMs = 0;
    }
  }

  #apply(groups: Group[] | undefined): void {
    if (!Array.isArray(groups)) throw new TypeError('The service sent no groups');
    this.#state.apply(groups);
    this.#events.groups(groups);
  }

  #current(ageMs = 0): void {
    this.#currentAsOf = performance.now() - ageMs;
    this.#standing = 'current';
    this.#failure = undefined;
    this.#events.standing({ type: 'current', ageMs });
  }

  #notCurrent(standing: 'late' | 'connecting' = 'connecting'): void {
    this.#standing = standing;
    if (this.#currentAsOf === -Infinity) return;
    this.#events.standing({ type: 'late', ageMs: Math.round(this.ageMs) });
  }
}
