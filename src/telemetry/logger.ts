import type { LoggerService } from '@nestjs/common';
import { pino, stdTimeFunctions, type DestinationStream, type Logger } from 'pino';
import { prettyFactory } from 'pino-pretty';
import type { Config, LogLevel } from '../config.js';
import { redact } from '../common/redact.js';
import { LineWriter } from './line-writer.js';

/** One JSON object a line, or the same in a form for people. */
export function createLogger(
  { logLevel, logFormat }: Pick<Config, 'logLevel' | 'logFormat'>,
  output = openStdout(logFormat),
): Logger {
  return pino(
    {
      level: logLevel,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
      hooks: { streamWrite: redact },
      base: undefined,
    },
    output,
  );
}

function openStdout(format: Config['logFormat']): DestinationStream {
  const form = format === 'pretty' ? prettyFactory({ singleLine: true }) : undefined;
  // By creating `process.stdout` Node makes a pipe non-blocking.
  return new LineWriter(process.stdout.fd, form);
}

/** A fault that nobody caught, a rejected promise among them: one line in the log, then exit 1. */
export function exitOnUncaught(logger: Logger): void {
  process.on('uncaughtException', (error, origin) => {
    logger.fatal({ err: error }, origin);
    process.exit(1);
  });
}

/** The properties that say how an error came about. Others may hold anything: documents, settings, commands. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error);
  const { name, message, code, stack, cause } = error as NodeJS.ErrnoException;
  return { type: name, message, code, stack, cause: cause && describeError(cause) };
}

/** Nest's own messages, and those of our classes, in the same log. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  readonly error = this.at('error');
  readonly warn = this.at('warn');

  log(message: unknown, ...rest: unknown[]): void {
    this.write(STARTING.has(String(rest.at(-1))) ? 'debug' : 'info', message, rest);
  }

  private at(level: LogLevel) {
    return (message: unknown, ...rest: unknown[]): void => this.write(level, message, rest);
  }

  /** Nest passes the message, maybe more values (a stack, the text of an object), and last the class that speaks. */
  private write(level: LogLevel, message: unknown, rest: unknown[]): void {
    const texts = rest.filter((value) => typeof value === 'string');
    const context = texts.pop();
    const [text] = texts;
    if (typeof message === 'object' && message !== null) {
      const about = message instanceof Error ? { err: message } : message;
      this.logger[level]({ context, ...about }, text);
    } else {
      this.logger[level]({ context, stack: text }, String(message));
    }
  }
}

/** Parts of Nest that tell at length how they start. */
const STARTING = new Set(['NestFactory', 'InstanceLoader', 'RoutesResolver', 'RouterExplorer']);
