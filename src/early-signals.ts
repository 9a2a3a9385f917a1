const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

type SignalHandler = (signal: NodeJS.Signals) => void;

/** The first process of a container ignores signals without a handler: this one ends it until the server has its own. */
let handler: SignalHandler = () => process.exit(0);

// Never taken off: a signal that came, but was not told yet, would be lost with its listener.
for (const signal of SIGNALS) process.on(signal, () => handler(signal));

/** From now on, signals are for this handler, those too that came before and were not told yet. */
export function handleSignals(next: SignalHandler): void {
  handler = next;
}
