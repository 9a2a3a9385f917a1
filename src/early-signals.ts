/**
 * The first process of a container ignores signals that it has no handler for. These handlers end it, until the
 * server has its own.
 */
const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

const end = () => process.exit(0);
for (const signal of SIGNALS) process.on(signal, end);

export function releaseSignals(): void {
  for (const signal of SIGNALS) process.off(signal, end);
}
