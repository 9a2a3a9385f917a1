import { environment } from './common/env-file.js';
import { mongodbUri } from './common/mongodb-uri.js';
import {
  boolean,
  host,
  oneOf,
  origins,
  redisUrl,
  SettingFault,
  wholeNumber,
  type Parse,
} from './common/setting-rules.js';

/** Every setting in the order of its declaration. */
export const settings: { variable: string; property: string; parse: Parse<unknown> }[] = [];

function Env<T>(variable: string, parse: Parse<T>): PropertyDecorator {
  return (_target, property) => {
    settings.push({ variable, property: String(property), parse });
  };
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Every setting, once: comment, variable, rule, type and default. */
export class Config {
  /** TCP port to listen on; 0 lets the system choose. */
  @Env('PORT', wholeNumber(0, 65535)) readonly port: number = 3000;

  /** TCP port where probes and metrics are, and nowhere else. Unset: they are on PORT. */
  @Env('ADMIN_PORT', wholeNumber(1, 65535)) readonly adminPort: number | undefined = undefined;

  /** Address to listen on. */
  @Env('HOST', host) readonly host: string = '0.0.0.0';

  /** MongoDB connection string. Unset: the embedded MongoDB (never with NODE_ENV=production). */
  @Env('MONGODB_URI', mongodbUri) readonly mongodbUri: string | undefined = undefined;

  /** Whether `mongodbUri` is that of the embedded MongoDB. Not a setting: the server sets it when it opens that. */
  readonly isEmbedded: boolean = false;

  /** Where the embedded MongoDB keeps its data. */
  @Env('EMBEDDED_DB_PATH', String) readonly embeddedDbPath: string = '.data/mongo';

  /** Whether the demo's live prices move, in the embedded MongoDB as long as it holds nothing else. */
  @Env('DEMO_FEED', boolean) readonly demoFeed: boolean = true;

  /** Whether collections and indexes are made at start. */
  @Env('DB_INIT', boolean) readonly dbInit: boolean = true;

  /** Requests per minute and key, for keys without a limit of their own; 0: no limit. */
  @Env('RATE_LIMIT_PER_MINUTE', wholeNumber(0, 1_000_000_000))
  readonly rateLimitPerMinute: number = 600;

  /** Redis that the replicas count requests in together (redis:// or rediss://). Unset: each counts its own. */
  @Env('REDIS_URL', redisUrl) readonly redisUrl: string | undefined = undefined;

  /** Refused keys per minute from an address, before that address has to wait; 0: no limit. */
  @Env('AUTH_FAILURES_PER_MINUTE', wholeNumber(0, 1_000_000_000))
  readonly authFailuresPerMinute: number = 600;

  /** Whether a key may come in the query, where proxies' logs show it; false: only in the X-API-Key header. */
  @Env('AUTH_ALLOW_QUERY_KEY', boolean) readonly authAllowQueryKey: boolean = true;

  /** Proxies in front whose X-Forwarded-For tells the client's address; 0: none. */
  @Env('TRUST_PROXY', wholeNumber(0, 100)) readonly trustProxy: number = 0;

  /** Origins whose pages may call the API, separated by commas; `*` for all. Unset: none. */
  @Env('CORS_ORIGINS', origins) readonly corsOrigins: readonly string[] | undefined = undefined;

  /** Memory for cached markets and answers, in MiB; 0: off. */
  @Env('CACHE_MAX_MB', wholeNumber(0, 1_000_000)) readonly cacheMaxMb: number = 64;

  /** Streams of changes that may be open at a time, for keys without a number of their own. */
  @Env('STREAMS_PER_KEY', wholeNumber(0, 1_000_000)) readonly streamsPerKey: number = 20;

  /** Streams of changes that the process may have open at a time; 0: no streams. */
  @Env('STREAMS_MAX', wholeNumber(0, 1_000_000)) readonly streamsMax: number = 5_000;

  /** Memory for what is watched, beside CACHE_MAX_MB, in MiB; above half of it, a key's further streams are refused. */
  @Env('WATCH_MAX_MB', wholeNumber(1, 1_000_000)) readonly watchMaxMb: number = 128;

  /** What is logged: this level and the more severe ones. */
  @Env('LOG_LEVEL', oneOf(...LOG_LEVELS)) readonly logLevel: LogLevel = 'info';

  /** How a log line looks; unset: pretty on a terminal, else json. */
  @Env('LOG_FORMAT', oneOf('json', 'pretty'))
  readonly logFormat: 'json' | 'pretty' = process.stdout.isTTY ? 'pretty' : 'json';
}

/** Bad settings: one message with every fault, by name and never by value. */
export class ConfigError extends Error {}

/**
 * Reads the settings from the environment, and from `.env` in the working directory where the environment
 * is silent. An empty variable is unset.
 * @throws ConfigError naming every bad setting
 */
export function loadConfig(given?: NodeJS.ProcessEnv): Config {
  const { variables: env, faults } = given ? { variables: given, faults: [] } : environment();
  const config: Config = new Config();
  for (const { variable, property, parse } of settings) {
    const text = env[variable];
    if (!text) continue;
    try {
      Object.assign(config, { [property]: parse(text) });
    } catch (error) {
      if (!(error instanceof SettingFault)) throw error;
      faults.push(`${variable} ${error.message}`);
    }
  }
  if (!env['MONGODB_URI'] && env['NODE_ENV'] === 'production') {
    faults.push('MONGODB_URI must be set: the embedded MongoDB is not for production');
  }
  if (config.adminPort === config.port) faults.push('ADMIN_PORT must be another port than PORT');
  if (faults.length > 0) throw new ConfigError(['Bad settings:', ...faults].join('\n  '));
  return config;
}
