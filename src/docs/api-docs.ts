import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import type { Config } from '../config.js';
import { API_KEY_HEADER, API_KEY_QUERY } from '../http/credentials.js';
import { PROBE_PATHS } from '../http/probe-paths.js';
import { addCommonHeaders } from './common-headers.js';

const DESCRIPTION = `What are the odds on this event? Betting markets with their runners and decimal prices,
by the bookmaker's event id or by the service's own fixture id.

Every look-up wants an API key: **Authorize** says where it may be sent.

[/docs/live](/docs/live) shows markets as they change. It reads a stream, which this page can't try out; a terminal can:

    curl -N -H 'X-API-Key: YOUR_KEY' 'http://localhost:3000/v1/markets/stream?fixtureId=demo-fixture-1'`;

/** The OpenAPI 3.1 document of the application. */
function createDocument(app: INestApplication): OpenAPIObject {
  const options = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Markets Odds Service')
    .setDescription(DESCRIPTION)
    .setVersion('1')
    .setLicense('MIT', 'https://opensource.org/license/mit')
    .addTag('Markets', 'The odds.')
    .addTag('Health', 'Probes for operators.')
    .addTag('Metrics', 'Figures for operators.')
    .addServer('/', 'The service that serves this document')
    .addSecurity(API_KEY_HEADER, {
      type: 'apiKey',
      in: 'header',
      name: API_KEY_HEADER,
      description: 'Send it in one place alone: two keys in a request are refused.',
    })
    .addSecurity(API_KEY_QUERY, {
      type: 'apiKey',
      in: 'query',
      name: API_KEY_QUERY,
      description: "Simple to try out; but proxies' logs show it.",
    })
    .build();
  const document = SwaggerModule.createDocument(app, options, {
    operationIdFactory: (_controller, method) => method,
  });
  return addCommonHeaders(document);
}

/** Swagger UI waits for the end of an answer, and a stream has none. It runs in the browser. */
const NO_STREAMS = {
  statePlugins: {
    spec: {
      wrapSelectors: {
        allowTryItOutFor: () => (_state: unknown, path: string) => path !== '/v1/markets/stream',
      },
    },
  },
};

/** Swagger UI at /docs and the document at /openapi.json, made when somebody asks: both without a key. */
export function setUpDocs(
  app: INestApplication,
  { adminPort, authAllowQueryKey }: Pick<Config, 'adminPort' | 'authAllowQueryKey'>,
): void {
  const makeDocument = () => {
    const document = createDocument(app);
    if (adminPort !== undefined) for (const path of PROBE_PATHS) delete document.paths[path];
    if (!authAllowQueryKey) takeOutQueryKey(document);
    return document;
  };
  SwaggerModule.setup('docs', app, makeDocument, {
    jsonDocumentUrl: 'openapi.json',
    raw: ['json'],
    customSiteTitle: 'Markets Odds Service',
    swaggerOptions: {
      persistAuthorization: true,
      tryItOutEnabled: true,
      displayRequestDuration: true,
      plugins: [NO_STREAMS],
    },
  });
}

function takeOutQueryKey({ paths, components }: OpenAPIObject): void {
  delete components?.securitySchemes?.[API_KEY_QUERY];
  for (const { get: operation } of Object.values(paths)) {
    if (operation)
      operation.security = operation.security?.filter((way) => !(API_KEY_QUERY in way));
  }
}
