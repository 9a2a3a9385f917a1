import { get } from 'node:http';

/** Longer than a probe takes, shorter than orchestrators wait for it. Milliseconds. */
const TIMEOUT_MS = 2_500;

/**
 * Asks the server on this machine how it is.
 * @param probe `live` or `ready`
 * @param host the address that the server listens on; to 0.0.0.0 and :: the system connects by loopback
 * @returns what is wrong, or nothing
 */
export function probeFault(
  probe: string,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const path = `/health/${probe}`;
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    get({ host, port, path, agent: false, signal }, (response) => {
      resolve(response.statusCode === 200 ? undefined : `${path} says ${response.statusCode}`);
    }).on('error', (error) => {
      resolve(signal.aborted ? `${path} does not answer` : error.message);
    });
  });
}
