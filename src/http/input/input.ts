import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { ApiParam, ApiQuery } from '@nestjs/swagger';
import { IsIn, IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
import type { ApiRequest } from '../api-request.js';
import { ID_PATTERN, ID_RULE } from './id-rule.js';

export interface InputField {
  readonly name: string;
  readonly in: 'path' | 'query';
  /** JSON Schema of the parameter. */
  readonly schema: Record<string, unknown>;
  readonly description: string;
  readonly example?: unknown;
  readonly convert: (text: string) => unknown;
}

const fieldsOf = new Map<object, readonly InputField[]>();

/** The parameters that an input class takes, inherited ones first. */
export function listInputFields(type: object | null): readonly InputField[] {
  if (type === null) return [];
  return [...listInputFields(Object.getPrototypeOf(type)), ...(fieldsOf.get(type) ?? [])];
}

function declare(field: Omit<InputField, 'name'>, rules: PropertyDecorator[]): PropertyDecorator {
  return (target, key) => {
    const own = fieldsOf.get(target.constructor) ?? [];
    fieldsOf.set(target.constructor, [...own, { ...field, name: String(key) }]);
    for (const rule of rules) rule(target, key);
  };
}

interface Documented {
  readonly description: string;
  readonly example?: unknown;
}

/** An opaque id in the path. */
export function PathId({ description, example }: Documented): PropertyDecorator {
  const schema = { type: 'string', pattern: ID_PATTERN };
  return declare({ in: 'path', schema, description, example, convert: String }, [
    Matches(new RegExp(ID_PATTERN, 'u'), { message: `must be ${ID_RULE}` }),
  ]);
}

/** One of a few words in the query, exact, case included. */
export function QueryChoice(
  options: Documented & { readonly values: readonly string[] },
): PropertyDecorator {
  const { description, values } = options;
  const schema = { type: 'string', enum: [...values] };
  const message = `must be one of ${values.join(', ')}`;
  return declare({ in: 'query', schema, description, convert: String }, [
    IsOptional(),
    IsIn(values, { message }),
  ]);
}

/** A whole number in the query: decimal digits without sign, leading zero, space, point or exponent. */
export function QueryInteger(
  options: Documented & {
    readonly minimum: number;
    readonly maximum: number;
    readonly default: number;
  },
): PropertyDecorator {
  const { description, minimum, maximum } = options;
  const schema = { type: 'integer', minimum, maximum, default: options.default };
  const message = `must be a whole number from ${minimum} to ${maximum}, in plain digits`;
  return declare({ in: 'query', schema, description, convert: plainInteger }, [
    IsInt({ message }),
    Min(minimum, { message }),
    Max(maximum, { message }),
  ]);
}

/** Leaves alone what is not exactly one number, for the validator to refuse. */
function plainInteger(text: string): number | string {
  const value = Number(text);
  return /^(0|[1-9]\d*)$/.test(text) && Number.isSafeInteger(value) ? value : text;
}

function document(target: object, key: string | symbol | undefined, index: number): void {
  if (key === undefined) return;
  const types: unknown[] = Reflect.getMetadata('design:paramtypes', target, key);
  const descriptor = Object.getOwnPropertyDescriptor(target, key);
  for (const field of listInputFields(types[index] as object)) {
    const { name, description, example } = field;
    const decorate = field.in === 'path' ? ApiParam : ApiQuery;
    const required = field.in === 'path';
    const schema = { ...field.schema, ...(example !== undefined && { example }) };
    decorate({ name, description, required, schema })(
      target,
      key,
      descriptor as PropertyDescriptor,
    );
  }
}

/** Everything that a handler takes from path and query, as one validated object; documented by the same class. */
export const Input: () => ParameterDecorator = createParamDecorator(
  (_data: unknown, context: ExecutionContext) => context.switchToHttp().getRequest<ApiRequest>(),
  [document],
);
