import { Ajv2020, type AnySchema } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { OpenAPIV3_1 } from 'openapi-types';

export interface Answered {
  /** Path without its query, as it was asked for. */
  readonly path: string;
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** Holds answers to an OpenAPI 3.1 document. */
export class OpenApiValidator {
  private readonly ajv = new Ajv2020({ strict: false, allErrors: true });

  constructor(readonly document: OpenAPIV3_1.Document) {
    formats.default(this.ajv);
    this.ajv.addSchema(document, 'document');
  }

  /** Every GET of the document. */
  get operations(): { template: string; operation: OpenAPIV3_1.OperationObject }[] {
    return Object.entries(this.document.paths ?? {}).flatMap(([template, item]) =>
      item?.get ? [{ template, operation: item.get }] : [],
    );
  }

  /** What the document does not foresee in an answer to GET or HEAD. */
  faults({ path, status, headers, body }: Answered): string[] {
    const found = this.operations.find(({ template }) => matches(template, path));
    if (!found) return [`no operation for ${path}`];
    const answer = found.operation.responses?.[status] as OpenAPIV3_1.ResponseObject | undefined;
    if (!answer) return [`${found.template}: status ${status}`];
    return [
      ...this.headerFaults(answer, headers),
      ...this.bodyFaults(answer, headers.get('content-type'), body),
    ].map((fault) => `${found.template} ${status}: ${fault}`);
  }

  /** What a schema, given as a pointer into the document or whole, has against a value. */
  schemaFaults(schema: AnySchema, value: unknown): string[] {
    const validate = this.ajv.compile(withAbsoluteRefs(schema) as AnySchema);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message }) => `${instancePath || 'it'} ${message}`,
    );
  }

  private headerFaults(answer: OpenAPIV3_1.ResponseObject, headers: Headers): string[] {
    const documented = Object.entries(answer.headers ?? {}) as [string, OpenAPIV3_1.HeaderObject][];
    return documented.flatMap(([name, { required, schema }]) => {
      const value = headers.get(name);
      if (value === null) return required ? [`lacks the header ${name}`] : [];
      return this.schemaFaults(schema as AnySchema, value).map((fault) => `${name}: ${fault}`);
    });
  }

  private bodyFaults(
    { content }: OpenAPIV3_1.ResponseObject,
    contentType: string | null,
    body: string,
  ): string[] {
    if (!content) return body === '' ? [] : ['a body'];
    const mediaType = contentType?.split(';')[0] ?? 'none';
    const documented = content[mediaType];
    if (!documented) return [`content type ${mediaType}`];
    if (body === '') return [];
    const value: unknown = mediaType.endsWith('json') ? JSON.parse(body) : body;
    return this.schemaFaults(documented.schema as AnySchema, value);
  }
}

/** Whether a path is one of a template such as `/a/{b}`. */
export function matches(template: string, path: string): boolean {
  const pattern = template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+');
  return new RegExp(`^${pattern}$`).test(path);
}

/** References within the document, as seen from a schema that is taken out of it. */
function withAbsoluteRefs(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"document#/'));
}
