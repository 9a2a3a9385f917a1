import { InvalidArgumentError } from 'commander';

const DAY_SECONDS = 86_400;
const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: DAY_SECONDS };
const DURATION_DAYS_MAX = 36_500;

/** An option such as `90d`, in milliseconds. */
export function parseDuration(text: string): number {
  const [, digits = '', unit = ''] = /^(\d{1,15})([smhd])$/.exec(text) ?? [];
  const seconds = Number(digits) * (UNIT_SECONDS[unit] ?? 0);
  if (seconds > 0 && seconds <= DURATION_DAYS_MAX * DAY_SECONDS) return seconds * 1000;
  throw new InvalidArgumentError(
    `It must be a whole number above 0 with s, m, h or d, such as 90d; ${DURATION_DAYS_MAX}d at most.`,
  );
}

/** An option that is a whole number in decimal digits. */
export function parseWholeNumber(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number, 0 or more, of at most 15 digits.');
}
