import { keyOf, type Group, type Scope } from './query.js';
import type { Market } from './types.gen.js';

export type WatchEvent =
  /** News of one id. `reset`: what you held of it is void. */
  | ({ readonly type: 'markets' } & Group)
  /** You have everything that was written earlier than `ageMs` ago. */
  | { readonly type: 'current'; readonly ageMs: number }
  /** More may have changed than you were told. */
  | { readonly type: 'late'; readonly ageMs: number };

interface Pending {
  readonly scope: Scope;
  reset: boolean;
  readonly changed: Map<string, Market>;
  readonly removed: Set<string>;
}

/** What the caller has not taken yet: the newest state of each market, so that a slow caller needs no more memory. */
export class WatchEvents {
  readonly #pending = new Map<string, Pending>();
  #standing: WatchEvent | undefined;
  #end: { readonly failure: unknown } | undefined;
  readonly #waiting: (() => void)[] = [];

  groups(groups: readonly Group[]): void {
    for (const group of groups) this.#merge(group);
    this.#wake();
  }

  standing(event: WatchEvent): void {
    this.#standing = event;
    this.#wake();
  }

  end(failure?: unknown): void {
    this.#end ??= { failure };
    this.#wake();
  }

  async next(): Promise<IteratorResult<WatchEvent, undefined>> {
    for (;;) {
      const value = this.#take();
      if (value) return { done: false, value };
      if (this.#end?.failure !== undefined) throw this.#end.failure;
      if (this.#end) return { done: true, value: undefined };
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #wake(): void {
    for (const goOn of this.#waiting.splice(0)) goOn();
  }

  #take(): WatchEvent | undefined {
    for (const [key, { scope, reset, changed, removed }] of this.#pending) {
      this.#pending.delete(key);
      return {
        type: 'markets',
        ...scope,
        reset,
        changed: [...changed.values()],
        removed: [...removed],
      };
    }
    const standing = this.#standing;
    this.#standing = undefined;
    return standing;
  }

  #merge({ reset, changed, removed, ...scope }: Group): void {
    const key = keyOf(scope);
    const known = reset ? undefined : this.#pending.get(key);
    const merged = known ?? {
      scope: scope as Scope,
      reset,
      changed: new Map(),
      removed: new Set(),
    };
    for (const market of changed) {
      merged.changed.set(market._id, market);
      merged.removed.delete(market._id);
    }
    for (const id of removed) {
      merged.changed.delete(id);
      // After a reset the caller holds none of it.
      if (!merged.reset) merged.removed.add(id);
    }
    this.#pending.set(key, merged);
  }
}
