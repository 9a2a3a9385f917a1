/** An API key wherever it stands, percent-encoded too; and the user and password of a connection string. */
const KEY = /mos(?:_|%5f)[0-9a-z]{12}(?:_|%5f)[0-9a-z]*/gi;
const CREDENTIALS = /\b((?:mongodb(?:\+srv)?|rediss?):\/\/)[^\s"]*@/gi;

/**
 * Takes keys and passwords out of a text. A last defence: nothing of ours writes them, but libraries put
 * into their messages what they please.
 */
export function redact(text: string): string {
  // Nearly every line returns here: this search costs less than the two below.
  if (!/mos|:\/\//i.test(text)) return text;
  return text.replace(KEY, 'mos_[redacted]').replace(CREDENTIALS, '$1[redacted]@');
}
