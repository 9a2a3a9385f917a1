/** Why mongod did not come up, in its own words. */
export class MongodFailed extends Error {
  /** @param log what mongod and its guard have written */
  constructor(log: readonly string[]) {
    const complaints = new Set(log.map((line) => complaint(line).trim()).filter(Boolean));
    super(`mongod did not start: ${[...complaints].join('; ') || 'no reason given'}`);
  }

  /** Whether another mongod has the data path, or has just taken the port that was free a moment ago. */
  get isAlreadyInUse(): boolean {
    return /DBPathInUse(?!: Unable to create)|setting up listener/.test(this.message);
  }
}

/** A line of mongod's log: severity, message, attributes. */
interface LogLine {
  readonly s: string;
  readonly msg: string;
  readonly attr?: { readonly error?: unknown; readonly message?: { readonly error_str?: unknown } };
}

/** What a line of mongod's log complains about; empty for the many lines that don't. */
function complaint(line: string): string {
  try {
    const { s, msg, attr }: LogLine = JSON.parse(line);
    if (s !== 'E' && s !== 'F') return '';
    const details = [attr?.error, attr?.message, attr?.message?.error_str];
    return details.find((detail) => typeof detail === 'string') ?? msg;
  } catch {
    // The line is not from mongod's log, or was cut when mongod ended.
    return line;
  }
}
