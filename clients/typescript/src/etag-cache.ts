interface Entry {
  readonly etag: string;
  readonly text: string;
}

/** Answers with their tags, in LRU order. */
export class EtagCache {
  readonly #entries = new Map<string, Entry>();

  constructor(private readonly maxEntries: number) {}

  get(url: string): Entry | undefined {
    const entry = this.#entries.get(url);
    if (!entry) return undefined;
    this.#entries.delete(url);
    this.#entries.set(url, entry);
    return entry;
  }

  set(url: string, etag: string | null, text: string): void {
    if (etag === null) return;
    this.#entries.set(url, { etag, text });
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.maxEntries && oldest !== undefined) this.#entries.delete(oldest);
  }
}
