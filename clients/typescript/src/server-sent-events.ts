/** One event of a `text/event-stream` (WHATWG HTML, 9.2). */
export interface ServerSentEvent {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: string;
}

/** Reads events as they come. `onRetry` is told the milliseconds that the server asks to wait before the next connection. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  onRetry: (ms: number) => void,
): AsyncGenerator<ServerSentEvent> {
  let fields: Record<string, string> = {};
  for await (const line of lines(body)) {
    if (line === '') {
      const { event = 'message', id, data } = fields;
      fields = {};
      if (data !== undefined) yield { event, id, data };
      continue;
    }
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === 'retry' && /^\d+$/.test(value)) onRetry(Number(value));
    else if (name === 'data' && fields['data'] !== undefined) fields['data'] += `\n${value}`;
    else if (name) fields[name] = value;
  }
}

async function* lines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const parts = decoder.decode(value, { stream: true }).split(/\r?\n/);
      const last = parts.pop() ?? '';
      for (const part of parts) {
        yield [...rest, part].join('');
        rest = [];
      }
      rest.push(last);
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
