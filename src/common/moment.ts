/**
 * A moment by both clocks of the process. The monotonic one stands still while a machine is suspended; the
 * wall clock goes on, but can be set.
 */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export function momentNow(): Moment {
  return { monotonicMs: performance.now(), wallMs: Date.now() };
}

export function momentBefore({ monotonicMs, wallMs }: Moment, ms: number): Moment {
  return { monotonicMs: monotonicMs - ms, wallMs: wallMs - ms };
}

/** The time since a moment by the clock that has gone further: data may count as too old, never as too new. */
export function elapsedMs(since: Moment, now = momentNow()): number {
  return Math.max(now.monotonicMs - since.monotonicMs, now.wallMs - since.wallMs);
}
