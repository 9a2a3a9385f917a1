/**
 * The first process of a container has no default for signals: without a handler they are lost. Until the
 * server is up and has one of its own, they end the process.
 */
const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

const end = () => process.exit(0);
for (const signal of SIGNALS) process.on(signal, end);

/** Hands the signals over. */
export function releaseSignals(): void {
  for (const signal of SIGNALS) process.off(signal, end);
}
