import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { ApiHeader, ApiParam, ApiQuery } from '@nestjs/swagger';
import type { ApiRequest } from '../api-request.js';
import { InputPipe } from './input.pipe.js';
import { listParameters, type Parameter } from './parameter.js';

const DOCUMENT = { path: ApiParam, query: ApiQuery, header: ApiHeader };

const fromRequest = createParamDecorator(
  (_data: unknown, context: ExecutionContext) => context.switchToHttp().getRequest<ApiRequest>(),
  [document],
);

/** Everything that a handler takes from a request, as one validated object; documented by the same class. */
export const Input = (): ParameterDecorator => fromRequest(InputPipe);

function document(target: object, key: string | symbol | undefined, index: number): void {
  if (key === undefined) return;
  const types: unknown[] = Reflect.getMetadata('design:paramtypes', target, key);
  const descriptor = Object.getOwnPropertyDescriptor(target, key) as PropertyDescriptor;
  const type = types[index] as new () => Record<string, unknown>;
  const defaults = new type();
  for (const parameter of listParameters(type)) {
    const options = documentation(parameter, defaults[parameter.property]);
    DOCUMENT[parameter.in](options)(target, key, descriptor);
  }
}

function documentation(parameter: Parameter, byDefault: unknown) {
  const { name, description, example, maxItems } = parameter;
  const required = parameter.in === 'path';
  const one = {
    ...parameter.schema,
    ...(byDefault !== undefined && { default: byDefault }),
    ...(example !== undefined && { example }),
  };
  if (maxItems === undefined) return { name, description, required, schema: one };
  const schema = { type: 'array', items: one, minItems: 1, maxItems, uniqueItems: true };
  return { name, description, required, style: 'form' as const, explode: true, schema };
}
