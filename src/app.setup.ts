import type { CorsOptions } from '@nestjs/common/interfaces/external/cors-options.interface.js';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Response } from 'express';
import helmet from 'helmet';
import type { Logger } from 'pino';
import { AppModule } from './app.module.js';
import type { ApiRequest } from './http/api-request.js';
import { API_KEY_HEADER } from './http/credentials.js';
import { HttpServerAdapter } from './http/http-server.js';
import { methodCheck } from './http/method-check.js';
import { refuseOverload } from './http/overload/overloaded.js';
import { requestContext } from './http/request-context.js';
import type { Config } from './config.js';
import { setUpDocs } from './docs/api-docs.js';
import { setUpLivePage } from './docs/live-page.js';
import { NestLogger } from './telemetry/logger.js';
import { Metrics } from './telemetry/metrics.js';
import { templateFinder, watchOverload } from './telemetry/overload-watch.js';
import { outcomeOf, refusalOf } from './telemetry/request-outcome.js';
import { traceRequests } from './telemetry/tracing.js';
import { noteRequests, watchRequests } from './telemetry/request-watch.js';

/** The application as the server runs it and as the tests ask it: ready, but neither listening nor connected. */
export async function createApp(config: Config, logger: Logger): Promise<NestExpressApplication> {
  const adapter = new HttpServerAdapter();
  const app = await NestFactory.create<NestExpressApplication>(AppModule.with(config), adapter, {
    bodyParser: false,
    logger: new NestLogger(logger),
    abortOnError: false,
  });
  app.set('trust proxy', config.trustProxy);
  const note = noteRequests(logger, app.get(Metrics));
  adapter.onRefusal = (requestId, problem) => note(refusalOf(requestId, problem));
  adapter.tellsOrigins = config.corsOrigins !== undefined;
  app.use(watchRequests(note));
  const tracing = traceRequests();
  if (tracing) app.use(tracing);
  app.use(requestContext);
  app.use('/docs', pageHeaders());
  app.use(openRoutes);
  if (config.corsOrigins) app.enableCors(crossOrigin(config.corsOrigins));
  app.use(refuseOverload);
  app.use(methodCheck(adapter.getInstance()));
  setUpLivePage(app, config.isEmbedded);
  setUpDocs(app);
  await app.init();
  const routeOf = templateFinder(adapter.getInstance());
  adapter.onOverload = watchOverload(logger, app.get(Metrics), routeOf);
  adapter.onLeft = (request, response) =>
    note({ ...outcomeOf(request, response), route: routeOf(request.url) });
  return app;
}

/** Routes outside the API, and preflights, are sent by Express, which wants their headers beforehand. */
function openRoutes(request: ApiRequest, response: Response, next: NextFunction): void {
  if (!request.url.startsWith('/v1/') || request.method === 'OPTIONS') {
    const isPage = request.url.startsWith('/docs');
    response.set(isPage ? { 'X-Request-Id': request.requestId } : request.answerHeaders);
  }
  next();
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
function crossOrigin(origins: readonly string[]): CorsOptions {
  return {
    origin: origins.includes('*') ? '*' : [...origins],
    methods: ['GET', 'HEAD'],
    allowedHeaders: [API_KEY_HEADER, 'X-Request-Id', 'If-None-Match'],
    exposedHeaders: ['ETag', 'RateLimit', 'RateLimit-Policy', 'Retry-After', 'X-Request-Id'],
    maxAge: 600,
  };
}
