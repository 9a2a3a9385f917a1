import Negotiator from 'negotiator';
import type { ApiRequest } from '../http/api-request.js';
import type { Compression } from './compression.js';

/** Smaller bodies are not worth the work. */
const COMPRESS_FROM_BYTES = 1_024;

/** Longer lists of encodings are no browser's: parsing them takes milliseconds. */
const ACCEPTED_LENGTH_MAX = 256;

/** The order of encodings that a client accepts equally: most clients name gzip first without preferring it. */
const PREFERRED: readonly Compression[] = ['br', 'gzip'];

/** The types of the package lack this option. */
type WithPreference = Negotiator & {
  encoding(
    available: readonly string[],
    options: { preferred: readonly string[] },
  ): string | undefined;
};

/** How a body is sent: as the client prefers, and plain if it is short. */
export function chooseEncoding({ headers }: ApiRequest, length: number): Compression | 'identity' {
  const accepted = headers['accept-encoding'];
  if (length < COMPRESS_FROM_BYTES || !accepted || accepted.length > ACCEPTED_LENGTH_MAX) {
    return 'identity';
  }
  const negotiator = new Negotiator({ headers }) as WithPreference;
  const preferred = negotiator.encoding([...PREFERRED, 'identity'], { preferred: PREFERRED });
  return (preferred as Compression | undefined) ?? 'identity';
}
