import { isIn, max, min } from 'class-validator';
import { ID_PATTERN, ID_RULE, isId } from './id-rule.js';

/** Checks the values of a parameter: undefined if all are right, else what each must be. */
type Rule = (values: readonly unknown[]) => string | undefined;

/** One parameter of a request: where it is, how it is documented, what its text is converted to and what it must be. */
export interface Parameter {
  /** Also that of the property of the input class. */
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description: string;
  readonly example?: unknown;
  /** JSON Schema of a value. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** How often it may be given, each time with another value; unset: once. */
  readonly maxItems?: number;
  /** Makes the value that the rule judges; unset: the text is the value. */
  readonly convert?: (text: string) => unknown;
  readonly rule: Rule;
}

const PARAMETERS = Symbol('parameters');

/** The parameters that an input class takes, inherited ones first. */
export function listParameters(type: object): readonly Parameter[] {
  return (Reflect.getMetadata(PARAMETERS, type) ?? []) as readonly Parameter[];
}

/** Declares a property of an input class to be a parameter of that name. */
function declare(parameter: Omit<Parameter, 'name'>): PropertyDecorator {
  return (target, key) => {
    const all = [...listParameters(target.constructor), { name: String(key), ...parameter }];
    Reflect.defineMetadata(PARAMETERS, all, target.constructor);
  };
}

type Documented = Pick<Parameter, 'description' | 'example'>;
type Text = Documented & Partial<Pick<Parameter, 'maxItems' | 'rule'>>;

/** A rule by which each value must pass a check; the message says what each must be. */
export function every(check: (value: unknown) => boolean, message: string): Rule {
  return (values) => (values.every(check) ? undefined : message);
}

const areIds = every(isId, `must be ${ID_RULE}`);

/** Text by the rule of ids, unless a stricter one is given; compared exactly; given once, unless `maxItems` is set. */
const textParameter = (where: Parameter['in']) => (documented: Text) => {
  const schema = { type: 'string', pattern: ID_PATTERN.source };
  return declare({ in: where, rule: areIds, ...documented, schema });
};

/** An opaque id in the path. */
export const PathId = textParameter('path');

export const QueryText = textParameter('query');

/** Text in a header; an empty header counts as none. */
export const HeaderText = textParameter('header');

/** One or more of a few words in the query, compared exactly, case included. */
export function QueryChoices({
  values,
  ...documented
}: Documented & {
  readonly values: readonly string[];
  readonly maxItems: number;
}): PropertyDecorator {
  const areKnown = every((text) => isIn(text, values), `must be one of ${values.join(', ')}`);
  const rule: Rule = (texts) => {
    const fault = areKnown(texts);
    if (!fault || !texts.some((text) => String(text).includes(','))) return fault;
    return `${fault}: for several, repeat the name`;
  };
  const schema = { type: 'string', enum: [...values] };
  return declare({ in: 'query', ...documented, schema, rule });
}

/** Where a number may be greater, generated clients take 64 bits. */
const INT32_MAX = 2 ** 31 - 1;

/** A whole number in the query: decimal digits without sign, leading zero, space, point or exponent. */
export function QueryInteger({
  minimum,
  maximum,
  ...documented
}: Documented & { readonly minimum: number; readonly maximum: number }): PropertyDecorator {
  const format = maximum > INT32_MAX && { format: 'int64' };
  const schema = { type: 'integer', ...format, minimum, maximum };
  const message = `must be a whole number from ${minimum} to ${maximum}, in plain digits`;
  const rule = every((value) => min(value, minimum) && max(value, maximum), message);
  return declare({ in: 'query', ...documented, schema, convert: plainInteger, rule });
}

/** Leaves alone what is no whole number, for the rules to refuse. */
function plainInteger(text: string): number | string {
  return /^(0|[1-9]\d*)$/.test(text) ? Number(text) : text;
}
