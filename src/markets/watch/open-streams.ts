import type { MarketStream } from './market-stream.js';

/** The streams that are open: all, and those of each key. */
export class OpenStreams {
  readonly all = new Set<MarketStream>();
  private readonly byKey = new Map<string, Set<MarketStream>>();

  /** The ids of the keys that have streams. */
  get keyIds(): Iterable<string> {
    return this.byKey.keys();
  }

  ofKey(keyId: string): ReadonlySet<MarketStream> {
    return this.byKey.get(keyId) ?? new Set();
  }

  add(stream: MarketStream): void {
    const { keyId } = stream.options;
    const ofKey = this.byKey.get(keyId) ?? new Set();
    this.byKey.set(keyId, ofKey.add(stream));
    this.all.add(stream);
  }

  delete(stream: MarketStream): void {
    const { keyId } = stream.options;
    this.all.delete(stream);
    this.byKey.get(keyId)?.delete(stream);
    if (this.ofKey(keyId).size === 0) this.byKey.delete(keyId);
  }
}
