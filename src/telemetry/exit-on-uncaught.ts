import type { Logger } from 'pino';

/** A fault that nobody caught, a rejected promise among them: one line in the log, then exit 1. */
export function exitOnUncaught(logger: Logger): void {
  process.on('uncaughtException', (error, origin) => {
    logger.fatal({ err: error }, origin);
    process.exit(1);
  });
}
