type SignalHandler = (signal: NodeJS.Signals) => void;

/** Ends the process until the server sets its own: as process 1 of a container it would else ignore signals. */
let handler: SignalHandler = () => process.exit(0);

// Never removed: a signal that has come, but is not delivered yet, would be lost with its listener.
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => handler(signal));

/** From now on this handler is called, also for a signal that has come already but is not delivered yet. */
export function handleSignals(next: SignalHandler): void {
  handler = next;
}
