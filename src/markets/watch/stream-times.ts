/** The times of a stream, in milliseconds. */
export class StreamTimes {
  /** How often each stream is looked at. */
  tickMs = 250;
  /** `current` or `late` is due after this: 5 s are promised, which leaves time for a tick and a busy process. */
  tellEveryMs = 4_000;
  /** `late` is sent when the feed was not known to be complete for so long. */
  lateAfterMs = 2_000;
  /** A stream that is late for so long ends, so that the client tries another replica. */
  endLateAfterMs = 15_000;
  lifetimeMs = 3_600_000;
  /** The lives of streams differ by this share, so that their clients don't all come back at once. */
  lifetimeSpread = 0.1;
  /** How often keys are checked: the streams of a revoked key must end within two seconds. */
  checkKeysEveryMs = 750;
  /** When a process shuts down its streams end one after the other, over this time. */
  drainMs = 1_500;
}
