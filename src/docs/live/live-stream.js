/** Longest silence of a connection that is alive, in ms: the server has something to say every 5 s. */
const SILENCE_MS = 10_000;

/** Reasons of an `end` after which it is of no use to come back. */
const FINAL_ENDS = ['key', 'size'];

/**
 * Follows a stream of server-sent events until `signal` says stop or the server refuses for good. EventSource can
 * neither send a header nor survive a 503.
 * @param {{url: string, key: string, signal: AbortSignal, onEvent: (name: string, data: any) => void,
 *   onWait: (why: string) => void}} options
 * @returns {Promise<string>} why the server refuses
 */
export async function followStream({ url, key, signal, onEvent, onWait }) {
  let cursor;
  let retryMs = 1_000;
  for (;;) {
    const { refusal, wait = retryMs, why = '' } = await readStream();
    signal.throwIfAborted();
    if (refusal) return refusal;
    onWait(why);
    await new Promise((resolve) => setTimeout(resolve, wait));
  }

  /** Reads until the connection ends; says how long to wait before the next try, or why there is none. */
  async function readStream() {
    const headers = new Headers({ 'X-API-Key': key, ...(cursor && { 'Last-Event-ID': cursor }) });
    const connection = new AbortController();
    let silence = setTimeout(() => connection.abort(), SILENCE_MS);
    try {
      const stopped = AbortSignal.any([signal, connection.signal]);
      const response = await fetch(url, { headers, signal: stopped }).catch(() => undefined);
      if (!response) return {};
      if (!response.ok) return await refusalOf(response);
      const events = eventsOf(response.body);
      for (;;) {
        const { done, value: event } = await events.next().catch(() => ({ done: true }));
        if (done) return {};
        clearTimeout(silence);
        silence = setTimeout(() => connection.abort(), SILENCE_MS);
        const { event: name, id, data, retry } = event;
        if (retry) retryMs = Number(retry);
        // `changes` without an id are a part of a snapshot: a stream that is cut there begins anew.
        if (id || name === 'changes') cursor = id;
        if (data) onEvent(name, data);
        const reason = name === 'end' && data.reason;
        if (FINAL_ENDS.includes(reason)) return { refusal: `Ended by the server: ${reason}` };
      }
    } finally {
      clearTimeout(silence);
      connection.abort();
    }
  }

  async function refusalOf(response) {
    const problem = await response.json().catch(() => ({}));
    const detail = problem.detail ?? `Status ${response.status}`;
    if (response.status === 429 || response.status >= 500) {
      const wait = Number(response.headers.get('Retry-After')) * 1_000 || retryMs;
      return { wait, why: detail };
    }
    // A cursor of another version of the service: begin anew.
    if (response.status === 400 && cursor) {
      cursor = undefined;
      return { wait: 0 };
    }
    const faults = (problem.errors ?? []).map(({ name, detail: fault }) => `${name}: ${fault}`);
    return { refusal: [detail, ...faults].join(' ') };
  }
}

/** The events of a stream, each as its fields by name: the service writes a field on one line. */
async function* eventsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (text + value).split('\n\n');
    text = events.pop();
    for (const event of events) {
      const lines = event.split('\n').map((line) => line.split(/: (.*)/s));
      const { data, ...fields } = Object.fromEntries(lines);
      yield { ...fields, data: data && JSON.parse(data) };
    }
  }
}
