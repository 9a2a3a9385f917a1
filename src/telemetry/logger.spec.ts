import { beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger, NestLogger } from './logger.js';

const KEY = 'mos_0123456789ab_0123456789abcdefghijklmnopqrstuvABCDEF';

let lines: string[];
const last = () => JSON.parse(lines.at(-1) ?? '') as Record<string, unknown>;

const createTestLogger = (logLevel: 'trace' | 'warn' = 'trace') =>
  createLogger({ logLevel, logFormat: 'json' }, { write: (line) => void lines.push(line) });

beforeEach(() => {
  lines = [];
});

describe('a line of the log', () => {
  it('is one JSON object with time and level in words', () => {
    createTestLogger().warn({ count: 2 }, 'two');
    expect(lines.at(-1)).toMatch(/^\{.*\}\n$/);
    expect(last()).toEqual({ level: 'warn', time: expect.any(String), count: 2, msg: 'two' });
    expect(new Date(String(last()['time'])).toISOString()).toBe(last()['time']);
  });

  it('holds neither keys nor passwords, wherever they stand', () => {
    const error = new Error(`no mongodb://app:hunter2@db/x for ${KEY}`);
    createTestLogger().error({ err: error, [KEY]: KEY, url: 'redis://:hunter2@cache' }, KEY);
    expect(lines.at(-1)).not.toMatch(/hunter2|0123456789ab/);
    expect(last()).toMatchObject({
      msg: 'mos_[redacted]',
      url: 'redis://[redacted]@cache',
      err: { message: 'no mongodb://[redacted]@db/x for mos_[redacted]' },
    });
  });

  it('tells of an error how it came about, and nothing else that hangs on it', () => {
    const inner = new Error('inner', { cause: { secret: 'document' } });
    const error = Object.assign(new TypeError('outer', { cause: inner }), {
      code: 'E1',
      documents: [{ secret: 'document' }],
    });
    createTestLogger().error({ err: error }, 'failed');
    expect(last()['err']).toEqual({
      type: 'TypeError',
      message: 'outer',
      code: 'E1',
      stack: error.stack,
      cause: {
        type: 'Error',
        message: 'inner',
        stack: expect.any(String),
        cause: '[object Object]',
      },
    });
  });

  it('is not written below the level', () => {
    const logger = createTestLogger('warn');
    logger.info('quiet');
    logger.warn('loud');
    expect(lines).toHaveLength(1);
  });
});

describe("Nest's messages", () => {
  it.each([
    [['plain', 'Main'], { context: 'Main', msg: 'plain' }],
    [
      ['failed', 'Error: x\n at y', 'Main'],
      { context: 'Main', msg: 'failed', stack: 'Error: x\n at y' },
    ],
    [[{ requestId: '1' }, 'text', 'Main'], { context: 'Main', requestId: '1', msg: 'text' }],
  ])('%j', (given, expected) => {
    const [message, ...rest] = given;
    new NestLogger(createTestLogger()).error(message, ...rest);
    expect(last()).toEqual({ level: 'error', time: expect.any(String), ...expected });
  });

  it('an error as the message keeps its stack', () => {
    new NestLogger(createTestLogger()).error(new Error('boom'), 'Main');
    expect(last()).toMatchObject({
      context: 'Main',
      msg: 'boom',
      err: { type: 'Error', message: 'boom', stack: expect.stringContaining('boom') },
    });
  });

  it('how it starts is of interest to developers only', () => {
    const nest = new NestLogger(createTestLogger());
    nest.log('Mapped {/metrics, GET} route', 'RouterExplorer');
    expect(last()).toMatchObject({ level: 'debug' });
    nest.log('Listening', 'Main');
    expect(last()).toMatchObject({ level: 'info' });
  });
});
