const ID_MAX_CODE_POINTS = 256;

/**
 * An opaque id, without control characters (category Cc). Ids are compared exactly: never parsed, trimmed or cased.
 * With `\x`, since generated clients check the pattern as well, and neither PHP nor Go knows `\u`.
 */
export const ID_PATTERN = new RegExp(`^[^\\x00-\\x1f\\x7f-\\x9f]{1,${ID_MAX_CODE_POINTS}}$`, 'u');

export const ID_RULE = `1 to ${ID_MAX_CODE_POINTS} characters, no control characters`;

export function isId(value: unknown): value is string {
  return typeof value === 'string' && ID_PATTERN.test(value);
}
