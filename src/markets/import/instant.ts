const TIME_OF_DAY = '(?:[01]\\d|2[0-3]):[0-5]\\d';
const INSTANT = new RegExp(
  `^(\\d{4}-\\d\\d-\\d\\d)T${TIME_OF_DAY}(?::[0-5]\\d(?:\\.\\d+)?)?(?:Z|[+-]${TIME_OF_DAY})$`,
);

/** A date and time with zone in ISO 8601; undefined for anything else, days that never were included. */
export function parseInstant(text: string): Date | undefined {
  const [, day] = INSTANT.exec(text) ?? [];
  if (day === undefined || !isDay(day)) return undefined;
  const instant = new Date(text);
  const year = instant.getUTCFullYear();
  return year >= 0 && year <= 9999 ? instant : undefined;
}

/** The engine takes 30 February for 2 March. */
function isDay(day: string): boolean {
  const midnight = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
}
