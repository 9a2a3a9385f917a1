import { IsIn, Matches, Max, Min } from 'class-validator';
import { ID_PATTERN, ID_RULE } from './id-rule.js';
import { declare, type Parameter } from './parameter.js';

type Documented = Pick<Parameter, 'description' | 'example'>;
type Text = Documented & Partial<Pick<Parameter, 'name' | 'maxItems'>>;

/** Text by the rule of ids, compared exactly; given once, unless `maxItems` says otherwise. */
const idText = (where: Parameter['in']) => (documented: Text) => {
  const each = documented.maxItems !== undefined;
  const schema = { type: 'string', pattern: ID_PATTERN.source };
  const isId = Matches(ID_PATTERN, { each, message: `must be ${ID_RULE}` });
  return declare({ in: where, ...documented, schema }, isId);
};

/** An opaque id in the path. */
export const PathId = idText('path');

export const QueryText = idText('query');

/** Text in a header; an empty header counts as none. */
export const HeaderText = idText('header');

/** One or more of a few words in the query, compared exactly, case included. */
export function QueryChoices({
  values,
  ...documented
}: Documented & {
  readonly values: readonly string[];
  readonly maxItems: number;
}): PropertyDecorator {
  const rule = `must be one of ${values.join(', ')}`;
  const message = ({ value }: { value: readonly string[] }) =>
    value.some((text) => text.includes(',')) ? `${rule}: for several, repeat the name` : rule;
  const schema = { type: 'string', enum: [...values] };
  return declare({ in: 'query', ...documented, schema }, IsIn(values, { each: true, message }));
}

/** A whole number in the query: decimal digits without sign, leading zero, space, point or exponent. */
export function QueryInteger({
  minimum,
  maximum,
  ...documented
}: Documented & { readonly minimum: number; readonly maximum: number }): PropertyDecorator {
  const schema = { type: 'integer', minimum, maximum };
  const message = `must be a whole number from ${minimum} to ${maximum}, in plain digits`;
  return declare(
    { in: 'query', ...documented, schema, convert: plainInteger },
    Min(minimum, { message }),
    Max(maximum, { message }),
  );
}

/** Leaves alone what is no whole number, for the rules to refuse. */
function plainInteger(text: string): number | string {
  return /^(0|[1-9]\d*)$/.test(text) ? Number(text) : text;
}
