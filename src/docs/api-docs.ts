import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import { addCommonAnswers } from './common-answers.js';

const DESCRIPTION = `What are the odds on this event? Betting markets with their runners and decimal prices,
by the bookmaker's event id or by the service's own fixture id.

Every look-up wants an API key: in the header \`X-API-Key\`, or as the query parameter \`api_key\`.
A key in a URL ends up in the logs of proxies: prefer the header.`;

/** The OpenAPI 3.1 document of the application. */
export function createDocument(app: INestApplication): OpenAPIObject {
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
    .addApiKey(
      {
        type: 'apiKey',
        in: 'header',
        name: 'X-API-Key',
        description:
          'The way to prefer. Fill in one of the two: two keys in a request are refused.',
      },
      'X-API-Key',
    )
    .addApiKey(
      {
        type: 'apiKey',
        in: 'query',
        name: 'api_key',
        description: "Simple to try out; but proxies' logs show it.",
      },
      'api_key',
    )
    .build();
  const document = SwaggerModule.createDocument(app, options, {
    operationIdFactory: (_controller, method) => method,
  });
  return addCommonAnswers(document);
}

/** Swagger UI at /docs and the document at /openapi.json: both without a key. */
export function setUpDocs(app: INestApplication): void {
  SwaggerModule.setup('docs', app, createDocument(app), {
    jsonDocumentUrl: 'openapi.json',
    raw: ['json'],
    customSiteTitle: 'Markets Odds Service',
    swaggerOptions: {
      persistAuthorization: true,
      tryItOutEnabled: true,
      displayRequestDuration: true,
    },
  });
}
