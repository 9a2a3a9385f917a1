/**
 * What an opaque id may be: 1 to 256 Unicode code points, none of them a control
 * character (general category Cc). Ids are compared exactly: never parsed, trimmed or cased.
 */
const ID_MAX_CODE_POINTS = 256;

/** The rule as an ECMA-262 pattern (flag `u`), as JSON Schema wants it. */
export const ID_PATTERN = `^[^\\u0000-\\u001f\\u007f-\\u009f]{1,${ID_MAX_CODE_POINTS}}$`;

export const ID_RULE = `1 to ${ID_MAX_CODE_POINTS} characters, no control characters`;

const idPattern = new RegExp(ID_PATTERN, 'u');

export function isId(value: unknown): value is string {
  return typeof value === 'string' && idPattern.test(value);
}
