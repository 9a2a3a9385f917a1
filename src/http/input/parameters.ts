import { ArrayMaxSize, ArrayUnique, IsIn, IsInt, Matches, Max, Min } from 'class-validator';
import { ID_PATTERN, ID_RULE } from './id-rule.js';
import { declare } from './parameter.js';

interface Documented {
  readonly description: string;
  readonly example?: unknown;
}

interface Repeatable extends Documented {
  readonly maxItems: number;
}

const ID_SCHEMA = { type: 'string', pattern: ID_PATTERN };

/** The rule of a text, or of each text of a list. */
const matchesId = (each: boolean): PropertyDecorator =>
  Matches(new RegExp(ID_PATTERN, 'u'), { each, message: `must be ${ID_RULE}` });

/** They come before the rule of each value: a list that is too long is not looked through. */
const listRules = ({ maxItems }: Repeatable): PropertyDecorator[] => [
  ArrayMaxSize(maxItems, { message: `must not be given more than ${maxItems} times` }),
  ArrayUnique({ message: 'must not have the same value twice' }),
];

/** An opaque id in the path. */
export function PathId(documented: Documented): PropertyDecorator {
  return declare({ in: 'path', required: true, ...documented, schema: ID_SCHEMA }, [
    matchesId(false),
  ]);
}

/** Open text in the query that may be repeated, by the rule of ids: compared exactly. */
export function QueryTexts(documented: Repeatable): PropertyDecorator {
  return declare({ in: 'query', ...documented, schema: ID_SCHEMA }, [
    ...listRules(documented),
    matchesId(true),
  ]);
}

/** Open text in the query, given once, by the same rule. */
export function QueryText(documented: Documented): PropertyDecorator {
  return declare({ in: 'query', ...documented, schema: ID_SCHEMA }, [matchesId(false)]);
}

/** Open text in a header, by the same rule; an empty header counts as none. */
export function HeaderText(documented: Documented & { readonly name: string }): PropertyDecorator {
  return declare({ in: 'header', ...documented, schema: ID_SCHEMA }, [matchesId(false)]);
}

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
