import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import cors from 'cors';
import type { Express, RequestHandler } from 'express';
import helmet from 'helmet';
import type { Logger } from 'pino';
import { AppModule } from './app.module.js';
import type { ApiRequest } from './http/api-request.js';
import { API_KEY_HEADER } from './http/credentials.js';
import { HTTP_LIMITS, type HttpLimits } from './http/http-limits.js';
import { HttpServerAdapter } from './http/http-server.js';
import { checkPort } from './http/probe-paths.js';
import { readRequest } from './http/read-request.js';
import { answerPreflights, checkMethod } from './http/routes.js';
import type { Config } from './config.js';
import { setUpDocs } from './docs/api-docs.js';
import { setUpLivePage } from './docs/live-page.js';
import { FastPath } from './markets/fast-path.js';
import { NestLogger } from './telemetry/logger.js';
import { Metrics } from './telemetry/metrics.js';
import type { Api } from './telemetry/opentelemetry.js';
import { RequestLog } from './telemetry/request-log.js';
import { traceRequests } from './telemetry/tracing.js';

export interface AppOptions {
  readonly limits?: HttpLimits;
  readonly metrics?: Metrics;
  /** For tests, in place of the tracing that was started with the process. */
  readonly tracing?: Api;
}

/** The application as the server runs it and as the tests ask it: ready, but neither listening nor connected. */
export async function createApp(
  config: Config,
  logger: Logger,
  { limits = HTTP_LIMITS, metrics = new Metrics(), tracing }: AppOptions = {},
): Promise<NestExpressApplication> {
  const allowOrigins = config.corsOrigins && crossOrigin(config.corsOrigins);
  const adapter = new HttpServerAdapter({
    limits,
    observer: new RequestLog(logger, metrics),
    cors: allowOrigins,
  });
  const module = AppModule.with(config, metrics);
  const app = await NestFactory.create<NestExpressApplication>(module, adapter, {
    bodyParser: false,
    logger: new NestLogger(logger),
    abortOnError: false,
  });
  const express = adapter.getInstance<Express>();
  app.set('trust proxy', config.trustProxy);
  app.use(step(readRequest));
  app.use('/docs', pageHeaders());
  if (config.adminPort !== undefined) app.use(step(checkPort));
  if (allowOrigins) app.use(answerPreflights(allowOrigins));
  app.use(step(checkMethod));
  setUpLivePage(app, config.isEmbedded);
  setUpDocs(app, config);
  await app.init();
  const fastPath = app.get(FastPath);
  adapter.incoming.serve = traceRequests((request, response) => {
    if (!fastPath.answer(request, response)) express(request, response);
  }, tracing);
  return app;
}

/** A step in Express, which a request passes unless the check throws. */
function step(check: (request: ApiRequest) => void): RequestHandler {
  return (request, _response, next) => {
    check(request as ApiRequest);
    next();
  };
}

/** Swagger UI needs its inline parts, and must work over plain http. */
function pageHeaders() {
  return helmet({
    strictTransportSecurity: false,
    contentSecurityPolicy: {
      directives: {
        upgradeInsecureRequests: null,
        styleSrc: ["'self'", "'unsafe-inline'"],
        imgSrc: ["'self'", 'data:'],
      },
    },
  });
}

/** What pages of other origins may do: read, with a key in the header, and see what the answers tell. */
function crossOrigin(origins: readonly string[]): RequestHandler {
  return cors({
    origin: origins.includes('*') ? '*' : [...origins],
    methods: ['GET', 'HEAD'],
    allowedHeaders: [API_KEY_HEADER, 'X-Request-Id', 'If-None-Match', 'Last-Event-ID'],
    exposedHeaders: ['ETag', 'RateLimit', 'RateLimit-Policy', 'Retry-After', 'X-Request-Id'],
    maxAge: 600,
  });
}
