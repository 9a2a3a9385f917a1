import { ID_PATTERN, ID_RULE, isId } from './id-rule.js';
import { declare, Wrong } from './parameter.js';

interface Documented {
  readonly description: string;
  readonly example?: unknown;
}

const ID = {
  schema: { type: 'string', pattern: ID_PATTERN },
  parse: (text: string) => (isId(text) ? text : new Wrong(`must be ${ID_RULE}`)),
};

/** An opaque id in the path. */
export function PathId(documented: Documented): PropertyDecorator {
  return declare({ in: 'path', required: true, ...documented, ...ID });
}

/** Open text in the query that may be repeated, by the rule of ids: compared exactly. */
export function QueryTexts(
  documented: Documented & { readonly maxItems: number },
): PropertyDecorator {
  return declare({ in: 'query', ...documented, ...ID });
}

/** Open text in the query, given once, by the same rule. */
export function QueryText(documented: Documented): PropertyDecorator {
  return declare({ in: 'query', ...documented, ...ID });
}

/** Open text in a header, by the same rule; an empty header counts as none. */
export function HeaderText(documented: Documented & { readonly name: string }): PropertyDecorator {
  return declare({ in: 'header', ...documented, ...ID });
}

/** Some of a few words in the query, exact, case included. */
export function QueryChoices(
  options: Documented & { readonly values: readonly string[]; readonly maxItems: number },
): PropertyDecorator {
  const { values, ...documented } = options;
  const known = new Set<string>(values);
  const rule = `must be one of ${values.join(', ')}`;
  const parse = (text: string) => {
    if (known.has(text)) return text;
    return new Wrong(text.includes(',') ? `${rule}: for several, repeat the name` : rule);
  };
  return declare({
    in: 'query',
    ...documented,
    schema: { type: 'string', enum: [...values] },
    parse,
  });
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
  const rule = `must be a whole number from ${minimum} to ${maximum}, in plain digits`;
  const parse = (text: string) => {
    const value = /^(0|[1-9]\d*)$/.test(text) ? Number(text) : NaN;
    return value >= minimum && value <= maximum ? value : new Wrong(rule);
  };
  return declare({ in: 'query', ...documented, schema, parse });
}
