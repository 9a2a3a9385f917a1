/** The times of a stream, in milliseconds. */
export class StreamTimes {
  /** How often each stream is looked at. */
  tickMs = 250;
  /** A caller hears that it has everything: with the wait for a tick, and a busy process, within 5 s. */
  currentEveryMs = 4_000;
  /** Without proof for so long, it hears that. */
  lateAfterMs = 2_000;
  lateEveryMs = 4_000;
  /** Then it is better off elsewhere. */
  endLateAfterMs = 15_000;
  /** Who does not read is cut. */
  unreadMs = 15_000;
  livesMs = 3_600_000;
  /** By so much the lives of streams differ, lest they all come back at once. */
  livesVary = 0.1;
  /** Keys are checked this often: a revoked one's streams end within two seconds. */
  checkKeysEveryMs = 750;
  /** The streams of a process that shuts down end over so long a time. */
  drainMs = 1_500;
}
