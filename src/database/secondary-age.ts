import type { Timestamp } from 'mongodb';
import { HEARD_KEPT_MS } from './read-after-time.js';
import { unavailable } from './read-errors.js';
import type { Topology } from './topology.js';

/** A secondary must have what was known to be written so long ago. Milliseconds. */
const SECONDARY_BEHIND_MS = 1_000;

/** Heartbeats tell within this time what was written. Milliseconds. */
const KNOWN_AFTER_MS = 500;

/** How old what a secondary answers may be at most, in milliseconds. */
export const SECONDARY_AGE_MS = SECONDARY_BEHIND_MS + KNOWN_AFTER_MS;

/** When no server has been heard for longer, nothing is known of what was written. Milliseconds. */
const SILENT_MAX_MS = 1_500;

/** A secondary that is further behind the newest known write answers only after a quiet time. Seconds. */
const WITHIN_S = HEARD_KEPT_MS / 1_000;

/**
 * The write that a secondary must have in order to answer while no primary can be asked. If any secondary knows a
 * primary, that is the newest write known a second ago, since others may be going on that we can't see. If none does,
 * the last writes may be lost with the primary, and the newest write on any secondary is enough.
 * @throws Problem when no secondary can be proven to be recent
 */
export function minimumTimeForSecondaries({
  newestOnSecondaries,
  secondariesNamePrimary,
  readAfterTime,
}: Topology): Timestamp {
  const newest = readAfterTime.newest?.clusterTime;
  if (!newest || !newestOnSecondaries) throw unavailable();
  const behindS = newest.t - newestOnSecondaries.t;
  // After a quiet time the first write of a new primary is seconds ahead of members that miss nothing else.
  const isBehind =
    behindS >= WITHIN_S && readAfterTime.knownBeforeNewest?.greaterThan(newestOnSecondaries);
  if (isBehind || readAfterTime.silentMs > SILENT_MAX_MS) throw unavailable();
  const due = readAfterTime.knownAt(performance.now() - SECONDARY_BEHIND_MS) ?? newest;
  const isLost = !secondariesNamePrimary && due.greaterThan(newestOnSecondaries);
  return isLost ? newestOnSecondaries : due;
}
