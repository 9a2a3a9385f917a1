import './early-signals.js';
import { startTracing } from './telemetry/tracing.js';

// Before the modules that are traced are loaded.
await startTracing();
await import('./server.js');
