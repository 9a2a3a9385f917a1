/**
 * The health check of the image: `node dist/health-check.js [live|ready]`. It needs no shell, and loads so
 * little that it can be run every few seconds.
 */
import { environment } from './common/env-file.js';
import { probeFault } from './health/probe.js';

// Not by loadConfig(), which loads MongoDB's driver. The server has checked these settings already.
const { ADMIN_PORT, PORT, HOST } = environment().variables;

// A failed check restarts the container, which doesn't bring MongoDB back: so `live`.
const probe = process.argv[2] ?? 'live';

const address = { host: HOST || '0.0.0.0', port: Number(ADMIN_PORT || PORT || 3000) };
const fault = await probeFault(probe, address);
if (fault) process.stderr.write(`${fault}\n`);
process.exit(fault ? 1 : 0);
