import type { LoggerService } from '@nestjs/common';
import { destination as openDestination, pino, type Logger } from 'pino';
import { PinoPretty } from 'pino-pretty';
import type { Config } from '../config.js';
import type { LogLevel } from './log-level.js';

/** One JSON object a line on stdout, or the same in a form for people. */
export function createLogger({
  logLevel,
  logFormat,
}: Pick<Config, 'logLevel' | 'logFormat'>): Logger {
  const stdout = openDestination({ dest: 1, sync: true });
  return pino(
    {
      level: logLevel,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      base: undefined,
    },
    logFormat === 'pretty' ? PinoPretty({ destination: stdout }) : stdout,
  );
}

/** Nest's own messages, and those of our classes, in the same log. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...rest: unknown[]): void {
    // Nest tells at length how it starts: of use to developers of the service alone.
    this.write(rest.at(-1) === 'InstanceLoader' ? 'debug' : 'info', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.write('error', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.write('trace', message, rest);
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.write('fatal', message, rest);
  }

  /** Nest passes the message, maybe more values, and last the name of the class that speaks. */
  private write(level: LogLevel, message: unknown, rest: unknown[]): void {
    const context = typeof rest.at(-1) === 'string' ? rest.at(-1) : undefined;
    const text = rest.find((value) => typeof value === 'string' && value !== context);
    const fields = typeof message === 'object' && message !== null ? message : {};
    this.logger[level](
      { context, ...fields },
      String(typeof message === 'object' ? (text ?? '') : message),
    );
  }
}
