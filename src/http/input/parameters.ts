import { ArrayMaxSize, ArrayUnique, IsIn, IsInt, Matches, Max, Min } from 'class-validator';
import { ID_PATTERN, ID_RULE } from './id-rule.js';
import { declare, type Parameter } from './parameter.js';

interface Documented {
  readonly description: string;
  readonly example?: unknown;
}

interface Repeatable extends Documented {
  readonly maxItems: number;
}

const ID_SCHEMA = { type: 'string', pattern: ID_PATTERN };

/** They come before the rule of each value: a list that is too long is not looked through. */
const listRules = ({ maxItems }: Repeatable): PropertyDecorator[] => [
  ArrayMaxSize(maxItems, { message: `must not be given more than ${maxItems} times` }),
  ArrayUnique({ message: 'must not have the same value twice' }),
];

/** Text by the rule of ids, compared exactly. */
function idText(
  parameter: Omit<Parameter, 'name' | 'property' | 'schema'> & { readonly name?: string },
  rules: PropertyDecorator[] = [],
): PropertyDecorator {
  const each = parameter.maxItems !== undefined;
  const isId = Matches(new RegExp(ID_PATTERN, 'u'), { each, message: `must be ${ID_RULE}` });
  return declare({ ...parameter, schema: ID_SCHEMA }, [...rules, isId]);
}

/** An opaque id in the path. */
export const PathId = (documented: Documented) =>
  idText({ in: 'path', required: true, ...documented });

/** Text in the query, given once. */
export const QueryText = (documented: Documented) => idText({ in: 'query', ...documented });

/** Text in the query that may be repeated. */
export const QueryTexts = (documented: Repeatable) =>
  idText({ in: 'query', ...documented }, listRules(documented));

/** Text in a header; an empty header counts as none. */
export const HeaderText = (documented: Documented & { readonly name: string }) =>
  idText({ in: 'header', ...documented });

/** Some of a few words in the query, exact, case included. */
export function QueryChoices(
  options: Repeatable & { readonly values: readonly string[] },
): PropertyDecorator {
  const { values, ...documented } = options;
  const rule = `must be one of ${values.join(', ')}`;
  const message = ({ value }: { value: readonly string[] }) =>
    value.some((text) => text.includes(',')) ? `${rule}: for several, repeat the name` : rule;
  const schema = { type: 'string', enum: [...values] };
  return declare({ in: 'query', ...documented, schema }, [
    ...listRules(documented),
    IsIn(values, { each: true, message }),
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
  const { minimum, maximum, default: byDefault, ...documented } = options;
  const schema = { type: 'integer', minimum, maximum, default: byDefault };
  const message = `must be a whole number from ${minimum} to ${maximum}, in plain digits`;
  return declare({ in: 'query', ...documented, schema, convert: plainInteger }, [
    IsInt({ message }),
    Min(minimum, { message }),
    Max(maximum, { message }),
  ]);
}

/** Leaves alone what is not exactly one number, for its rule to refuse. */
function plainInteger(text: string): number | string {
  const value = /^(0|[1-9]\d*)$/.test(text) ? Number(text) : NaN;
  return Number.isSafeInteger(value) ? value : text;
}
