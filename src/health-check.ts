/**
 * The health check of the image: `node dist/health-check.js [live|ready]`. It needs no shell, and loads so
 * little that it can be run every few seconds.
 */
import { get } from 'node:http';
import { environment } from './common/env-file.js';

/** Longer than a probe takes, shorter than orchestrators wait for it. Milliseconds. */
const TIMEOUT_MS = 2_500;

// Not by loadConfig(), which loads MongoDB's driver. The server has checked these settings already.
const { ADMIN_PORT, PORT, HOST } = environment().variables;

// A failed check restarts the container, which doesn't bring MongoDB back: so `live`.
const path = `/health/${process.argv[2] ?? 'live'}`;

// To 0.0.0.0 and :: the system connects by loopback.
const address = { host: HOST || '0.0.0.0', port: Number(ADMIN_PORT || PORT || 3000) };

function end(fault?: string): void {
  if (fault) process.stderr.write(`${fault}\n`);
  process.exit(fault ? 1 : 0);
}

const signal = AbortSignal.timeout(TIMEOUT_MS);
get({ ...address, path, agent: false, signal }, ({ statusCode }) => {
  end(statusCode === 200 ? undefined : `${path} says ${statusCode}`);
}).on('error', (error) => {
  end(signal.aborted ? `${path} does not answer` : error.message);
});
