/** Longest silence of a line that is alive, in ms: the server has something to say every 5 s. */
const SILENCE_MS = 10_000;

/** Reasons of an `end` after which it is of no use to come back. */
const FINAL_ENDS = ['key', 'size'];

/**
 * Follows a stream of server-sent events until `signal` says stop or the server refuses for good. EventSource can
 * neither send a header nor survive a 503.
 * @param {{url: string, key: string, signal: AbortSignal, onEvent: (type: string, data: any, id?: string) => void,
 *   onWait: (ms: number) => void}} options
 * @returns {Promise<string>} why the server refuses
 */
export async function followStream({ url, key, signal, onEvent, onWait }) {
  let cursor;
  let retryMs = 1_000;
  for (;;) {
    const wait = await readStream();
    signal.throwIfAborted();
    if (typeof wait === 'string') return wait;
    onWait(wait);
    await new Promise((resolve) => setTimeout(resolve, wait));
    signal.throwIfAborted();
  }

  /** How long to wait before the next try, or why there is none. */
  async function readStream() {
    const line = new AbortController();
    let silence = setTimeout(() => line.abort(), SILENCE_MS);
    let refusal;
    try {
      const headers = { 'X-API-Key': key, ...(cursor && { 'Last-Event-ID': cursor }) };
      const response = await fetch(url, {
        headers,
        signal: AbortSignal.any([signal, line.signal]),
      });
      if (!response.ok) return await refusalOf(response);
      for await (const event of eventsOf(response.body)) {
        clearTimeout(silence);
        silence = setTimeout(() => line.abort(), SILENCE_MS);
        if (event.retry !== undefined) retryMs = event.retry;
        if (event.id !== undefined) cursor = event.id;
        if (event.type === 'end' && FINAL_ENDS.includes(event.data?.reason))
          refusal = event.data.reason;
        if (event.data) onEvent(event.type, event.data, event.id);
      }
    } catch {
      // The line is cut or dead.
    } finally {
      clearTimeout(silence);
      line.abort();
    }
    return refusal ? `Ended by the server: ${refusal}` : retryMs;
  }

  async function refusalOf(response) {
    const problem = await response.json().catch(() => ({}));
    if (response.status === 429 || response.status >= 500) {
      return Number(response.headers.get('Retry-After')) * 1_000 || retryMs;
    }
    // A cursor of a database that is no more: begin anew.
    if (response.status === 400 && cursor) {
      cursor = undefined;
      return 0;
    }
    const faults = (problem.errors ?? []).map(({ name, detail }) => `${name}: ${detail}`);
    return [problem.detail ?? `Status ${response.status}`, ...faults].join(' ');
  }
}

/** The events of a stream, as https://html.spec.whatwg.org/multipage/server-sent-events.html describes them. */
async function* eventsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  let event = {};
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (text + value).split(/\r\n|\n|\r/);
    text = lines.pop();
    for (const line of lines) {
      if (line !== '') {
        addLine(event, line);
        continue;
      }
      const { data, ...rest } = event;
      event = {};
      yield { type: 'message', ...rest, data: data && JSON.parse(data) };
    }
  }
}

function addLine(event, line) {
  const [, name, value] = /^([^:]*):? ?(.*)$/.exec(line);
  if (name === 'data') event.data = event.data === undefined ? value : `${event.data}\n${value}`;
  else if (name === 'event') event.type = value;
  else if (name === 'id') event.id = value;
  else if (name === 'retry' && /^\d+$/.test(value)) event.retry = Number(value);
}
