/** Why mongod did not come up, in its own words. */
export class MongodFailed extends Error {
  constructor(
    message: string,
    readonly pathInUse: boolean,
  ) {
    super(message);
    this.name = 'MongodFailed';
  }
}

/** @param log what mongod and its guard have written */
export function failureOf(log: readonly string[]): MongodFailed {
  const words = log.map(complaint).filter(Boolean).join('; ') || 'no reason given';
  return new MongodFailed(`mongod did not start: ${words}`, words.includes('DBPathInUse'));
}

/** What a line of mongod's log complains about; empty for the many lines that don't. */
function complaint(line: string): string {
  if (!line.startsWith('{')) return /^\d*$/.test(line) ? '' : line;
  const { s, msg, attr }: LogLine = JSON.parse(line);
  if (s !== 'E' && s !== 'F') return '';
  const detail = attr?.error ?? attr?.message;
  return typeof detail === 'string' ? detail : msg;
}

/** A line of mongod's log: severity, message, attributes. */
interface LogLine {
  readonly s: string;
  readonly msg: string;
  readonly attr?: { readonly error?: unknown; readonly message?: unknown };
}
