/** Judges the values of a parameter: says what each must be, if one is not. */
export type Rule = (values: readonly unknown[]) => string | undefined;

/** One parameter of a request: where it is, how it is documented, how its text becomes a value, and what that must be. */
export interface Parameter {
  readonly name: string;
  /** Where the value goes in the input class. */
  readonly property: string;
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

/** Declares a property of an input class. The parameter's name is that of the property, unless another is given. */
export function declare(
  parameter: Omit<Parameter, 'name' | 'property'> & { readonly name?: string },
): PropertyDecorator {
  return (target, key) => {
    const property = String(key);
    const all = [...listParameters(target.constructor), { name: property, property, ...parameter }];
    Reflect.defineMetadata(PARAMETERS, all, target.constructor);
  };
}
