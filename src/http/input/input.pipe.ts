import { Injectable, type ArgumentMetadata, type PipeTransform } from '@nestjs/common';
import { validateSync } from 'class-validator';
import type { ApiRequest } from '../api-request.js';
import { listInputFields, type InputField } from './input.js';
import { API_KEY_QUERY } from '../credentials.js';
import { mayHoldKey } from '../key-like.js';
import { Problem, type RequestFault } from '../problem.js';

/** Names that an error can show: not too long, nothing invisible in them, nothing encoded twice. */
const SHOWN_NAME = /^[^%\p{C}]{0,64}$/u;

/**
 * Makes the object for `@Input()`, or reports every fault of the request at once.
 * @throws Problem `invalid_request`
 */
@Injectable()
export class InputPipe implements PipeTransform<ApiRequest> {
  transform(request: ApiRequest, { metatype, type }: ArgumentMetadata): unknown {
    if (type !== 'custom' || !metatype) return request;
    const fields = listInputFields(metatype);
    const reader = new InputReader(request, fields);
    const input: object = Object.assign(new metatype(), reader.read());
    const faults = [...reader.faults, ...validate(input, fields, reader.faults)];
    if (faults.length === 0) return input;
    const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`;
    throw new Problem('invalid_request', `The request has ${count}.`, { errors: faults });
  }
}

function validate(
  input: object,
  fields: readonly InputField[],
  known: readonly RequestFault[],
): RequestFault[] {
  return validateSync(input, { stopAtFirstError: true, forbidUnknownValues: false })
    .filter(({ property }) => !known.some(({ name }) => name === property))
    .map(({ property, constraints }) => ({
      in: fields.find(({ name }) => name === property)?.in ?? 'query',
      name: property,
      detail: Object.values(constraints ?? {}).join(', '),
    }));
}

/** Collects the values of a request by their names as sent, and what is wrong with the names. */
class InputReader {
  readonly faults: RequestFault[] = [];

  constructor(
    private readonly request: ApiRequest,
    private readonly fields: readonly InputField[],
  ) {}

  read(): Record<string, unknown> {
    return { ...this.readPath(), ...this.readQuery() };
  }

  private readPath(): Record<string, unknown> {
    const values: Record<string, unknown> = {};
    for (const { name } of this.fields.filter((field) => field.in === 'path')) {
      try {
        if (this.request.brokenTarget?.path) throw new URIError();
        values[name] = decodeURIComponent(String(this.request.params[name]));
      } catch {
        this.fault('path', name, 'must be valid percent-encoded UTF-8');
      }
    }
    return values;
  }

  private readQuery(): Record<string, unknown> {
    const values: Record<string, unknown> = {};
    const allowed = this.fields.filter((field) => field.in === 'query');
    if (this.request.brokenTarget?.query) {
      this.fault('query', '?', 'must be valid percent-encoded UTF-8');
    }
    const texts = groupByName(this.request.rawQuery);
    texts.delete(API_KEY_QUERY);
    for (const [name, [text = '', ...others]] of texts) {
      const field = allowed.find((candidate) => candidate.name === name);
      if (!field) {
        const names = [...allowed.map((known) => known.name), API_KEY_QUERY].join(', ');
        this.fault('query', echo(name, this.request), `is not known: allowed are ${names}`);
      } else if (others.length > 0) {
        this.fault('query', name, 'must not be repeated');
      } else if (text === '') {
        this.fault('query', name, 'must not be empty: leave it out instead');
      } else {
        values[name] = field.convert(text);
      }
    }
    return values;
  }

  private fault(where: RequestFault['in'], name: string, detail: string): void {
    this.faults.push({ in: where, name, detail });
  }
}

function groupByName(pairs: ApiRequest['rawQuery']): Map<string, string[]> {
  const texts = new Map<string, string[]>();
  for (const [name, text] of pairs) texts.set(name, [...(texts.get(name) ?? []), text]);
  return texts;
}

/** A name as the error may show it: not when it may hold a key. */
function echo(name: string, request: ApiRequest): string {
  return SHOWN_NAME.test(name) && !mayHoldKey(name, request) ? name : '(not shown)';
}
