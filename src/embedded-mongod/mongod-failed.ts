/** Why mongod did not come up, in its own words. */
export class MongodFailed extends Error {
  /** @param log what mongod and its guard have written */
  constructor(log: readonly string[]) {
    super(
      `mongod did not start: ${log.map(complaint).filter(Boolean).join('; ') || 'no reason given'}`,
    );
  }

  /** Whether another mongod has the data path, or has just taken the port that was free a moment ago. */
  get isAlreadyInUse(): boolean {
    return /DBPathInUse|setting up listener/.test(this.message);
  }
}

/** A line of mongod's log: severity, message, attributes. */
interface LogLine {
  readonly s: string;
  readonly msg: string;
  readonly attr?: { readonly error?: unknown; readonly message?: unknown };
}

/** What a line of mongod's log complains about; empty for the many lines that don't. */
function complaint(line: string): string {
  try {
    const { s, msg, attr }: LogLine = JSON.parse(line);
    if (s !== 'E' && s !== 'F') return '';
    const detail = attr?.error ?? attr?.message;
    return typeof detail === 'string' ? detail : msg;
  } catch {
    // It is no line of its log, or one that was cut by its end.
    return line;
  }
}
