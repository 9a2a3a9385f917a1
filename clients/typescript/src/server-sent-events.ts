/** One event of a `text/event-stream` (WHATWG HTML, 9.2). */
export interface ServerSentEvent {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: string;
  /** How long to wait before the next connection, where the server says so with this event. */
  readonly retryMs: number | undefined;
}

/** Reads events as they come. */
export async function* readEvents(
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<ServerSentEvent> {
  let fields: Record<string, string> = {};
  for await (const line of lines(body)) {
    if (line === '') {
      const { event = 'message', id, data, retry = '' } = fields;
      fields = {};
      const retryMs = /^\d+$/.test(retry) ? Number(retry) : undefined;
      if (data !== undefined) yield { event, id, data, retryMs };
      continue;
    }
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === 'data' && fields['data'] !== undefined) fields['data'] += `\n${value}`;
    else if (name) fields[name] = value;
  }
}

async function* lines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest: string[] = [];
  for await (const chunk of body) {
    const parts = decoder.decode(chunk, { stream: true }).split('\n');
    const last = parts.pop() ?? '';
    for (const part of parts) {
      yield [...rest, part].join('').replace(/\r$/, '');
      rest = [];
    }
    rest.push(last);
  }
}
