/** One parameter of a request: how it is documented, and how its text becomes a value. */
export interface Parameter {
  readonly name: string;
  /** Where the value goes in the input class. */
  readonly property: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description: string;
  readonly example?: unknown;
  /** JSON Schema of a value. */
  readonly schema: Readonly<Record<string, unknown>>;
  readonly required?: boolean;
  /** How often it may be repeated, each time with another value; lacking: it may not. */
  readonly maxItems?: number;
  readonly parse: (text: string) => unknown;
}

/** What `parse` makes of a text that breaks the rule: what would be right. */
export class Wrong {
  constructor(readonly detail: string) {}
}

const parametersOf = new Map<object, readonly Parameter[]>();

/** The parameters that an input class takes, inherited ones first. */
export function listParameters(type: object | null): readonly Parameter[] {
  if (type === null) return [];
  return [...listParameters(Object.getPrototypeOf(type)), ...(parametersOf.get(type) ?? [])];
}

/** Declares a property of an input class; its name is the parameter's unless another is given. */
export function declare(
  parameter: Omit<Parameter, 'name' | 'property'> & { readonly name?: string },
): PropertyDecorator {
  return ({ constructor }, key) => {
    const property = String(key);
    const own = parametersOf.get(constructor) ?? [];
    parametersOf.set(constructor, [...own, { name: property, property, ...parameter }]);
  };
}

/** The value of a parameter that was sent, once or several times. */
export function valueOf(
  { maxItems, parse }: Parameter,
  texts: readonly [string, ...string[]],
): unknown {
  if (texts.includes('')) return new Wrong('must not be empty: leave it out instead');
  if (maxItems === undefined)
    return texts.length > 1 ? new Wrong('must not be repeated') : parse(texts[0]);
  if (texts.length > maxItems) return new Wrong(`must not be given more than ${maxItems} times`);
  if (new Set(texts).size < texts.length) return new Wrong('must not have the same value twice');
  const values = texts.map(parse);
  return values.find((value) => value instanceof Wrong) ?? values;
}
