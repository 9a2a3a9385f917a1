import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { ApiHeader, ApiParam, ApiQuery } from '@nestjs/swagger';
import type { ApiRequest, RawQuery } from '../api-request.js';
import type { RequestFault } from '../problem-body.dto.js';
import { Problem } from '../problem.js';
import { listParameters, type Parameter } from './parameters.js';
import { readInput } from './read-input.js';

/** Its constructor may take the query as it was sent. */
type InputClass<T extends MayHaveFaults = MayHaveFaults> = new (query?: RawQuery) => T;

interface MayHaveFaults {
  /** What is wrong with several parameters together. */
  faults?(): readonly RequestFault[];
}

const DOCUMENT = { path: ApiParam, query: ApiQuery, header: ApiHeader };

const fromRequest = createParamDecorator((type: InputClass, context: ExecutionContext) =>
  inputOf(context.switchToHttp().getRequest<ApiRequest>(), type),
);

/** Everything that a handler takes from a request, as one validated object; documented by the same class. */
export function Input(): ParameterDecorator {
  return (target, key = '', index) => {
    const types: unknown[] = Reflect.getMetadata('design:paramtypes', target, key);
    const type = types[index] as InputClass;
    const descriptor = Object.getOwnPropertyDescriptor(target, key) as PropertyDescriptor;
    const defaults: Record<string, unknown> = { ...new type() };
    const parameters = listParameters(type);
    // The document lists the path's parameter first.
    const inPath = parameters.filter((each) => each.in === 'path');
    for (const parameter of new Set([...inPath, ...parameters])) {
      const options = documentation(parameter, defaults[parameter.name]);
      DOCUMENT[parameter.in](options)(target, key, descriptor);
    }
    fromRequest(type)(target, key, index);
  };
}

/**
 * Makes the object for `@Input()`, or reports every fault of the request at once.
 * @throws Problem `invalid_request`
 */
export function inputOf<T extends MayHaveFaults>(request: ApiRequest, type: InputClass<T>): T {
  const { values, faults } = readInput(request, listParameters(type));
  const input = Object.assign(new type(request.rawQuery), values);
  const errors = [...faults, ...(input.faults?.() ?? [])];
  if (errors.length === 0) return input;
  const count = errors.length === 1 ? '1 fault' : `${errors.length} faults`;
  throw new Problem('invalid_request', `The request has ${count}.`, { errors });
}

function documentation(parameter: Parameter, byDefault: unknown) {
  const { name, description, example, maxItems } = parameter;
  const required = parameter.in === 'path';
  const one = { ...parameter.schema, ...(byDefault !== undefined && { default: byDefault }) };
  if (maxItems === undefined) {
    const schema = { ...one, ...(example !== undefined && { example }) };
    return { name, description, required, schema };
  }
  const list = { type: 'array', items: one, minItems: 1, maxItems, uniqueItems: true };
  // Swagger UI fills in the example of a list, not that of its items.
  const schema = { ...list, ...(example !== undefined && { example: [example] }) };
  return { name, description, required, style: 'form' as const, explode: true, schema };
}
