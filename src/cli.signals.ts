/** How long a command may take to end after a signal; then its process ends. Milliseconds. */
const GRACE_MS = 5_000;

export const MAY_BE_DONE = 'The command may have done its work: look, and run it again.';

/** Aborted by the first SIGINT or SIGTERM. The second ends the process, as does time if the command goes on. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(1);
      const message = `stopped by ${name}`;
      setTimeout(() => {
        process.stderr.write(`error: ${message}\n${MAY_BE_DONE}\n`);
        process.exit(1);
      }, GRACE_MS).unref();
      controller.abort(new Error(message));
    });
  }
  return controller.signal;
}
