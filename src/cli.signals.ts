/** How long a command may take to end after a signal; then it is abandoned. Milliseconds. */
const GRACE_MS = 10_000;

/** Aborted by the first SIGINT or SIGTERM. The second ends the process, as does time if the command goes on. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(1);
      setTimeout(() => process.exit(1), GRACE_MS).unref();
      controller.abort(new Error(`stopped by ${name}`));
    });
  }
  return controller.signal;
}
