/** What can't be followed with certainty, now and for a while. */
export class NotFollowable extends Error {}

/** Codes of a stream that can't go on from where it was: an event too large for a reply is one. */
const CANNOT_RESUME = new Set([260, 280, 286, 222, 50811, 10334]);

/** Whether the feed can only begin anew. */
export function endsResumption(error: unknown): boolean {
  return error instanceof NotFollowable || CANNOT_RESUME.has(codeOf(error));
}

function codeOf(error: unknown): number {
  return Number((error as { code?: unknown }).code);
}
