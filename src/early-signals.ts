export const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** The first process of a container ignores signals without a handler: this one ends it until the server has its own. */
export const exitEarly = () => process.exit(0);

for (const signal of SIGNALS) process.on(signal, exitEarly);
