import type { ApiRequest, RawQuery } from '../api-request.js';
import { API_KEY_QUERY } from '../credentials.js';
import { mayHoldKey } from '../key-like.js';
import type { RequestFault } from '../problem-body.dto.js';
import { isBroken, splitTarget } from '../raw-query.js';
import type { Parameter } from './parameter.js';

/** Names that an error can show: not too long, nothing invisible in them, nothing encoded twice. */
const SHOWN_NAME = /^[^%\p{C}]{0,64}$/u;

/** Unknown names that an error tells one by one: its size must not grow with the request's. */
const UNKNOWN_TOLD_MAX = 20;

const NOT_UTF8 = 'must be valid percent-encoded UTF-8';

/** The query as a whole. */
const QUERY = '?';

/** The values that parameters have in a request, by property; and every fault that no rule over a value can see. */
export interface ReadInput {
  readonly values: Record<string, unknown>;
  readonly faults: RequestFault[];
}

export function readInput(request: ApiRequest, parameters: readonly Parameter[]): ReadInput {
  const input: ReadInput = { values: {}, faults: [] };
  const inQuery = new Map<string, Parameter>();
  for (const parameter of parameters) {
    if (parameter.in === 'path') readPath(request, parameter, input);
    else if (parameter.in === 'header') readHeader(request, parameter, input);
    else inQuery.set(parameter.name, parameter);
  }
  readQuery(request, inQuery, input);
  return input;
}

function readPath(request: ApiRequest, { name, property }: Parameter, input: ReadInput) {
  try {
    if (isBroken(splitTarget(request.originalUrl).path)) throw new URIError();
    input.values[property] = decodeURIComponent(String(request.params[name]));
  } catch {
    input.faults.push({ in: 'path', name, detail: NOT_UTF8 });
  }
}

/** An empty header counts as none. */
function readHeader({ headers }: ApiRequest, { name, property }: Parameter, input: ReadInput) {
  const text = headers[name.toLowerCase()];
  if (text) input.values[property] = String(text);
}

function readQuery(
  request: ApiRequest,
  parameters: ReadonlyMap<string, Parameter>,
  input: ReadInput,
) {
  const fault = (name: string, detail: string) => input.faults.push({ in: 'query', name, detail });
  const unknown: string[] = [];
  for (const [name, texts] of groupByName(request.rawQuery)) {
    const parameter = parameters.get(name);
    if (!parameter) unknown.push(name);
    else if (!texts) fault(name, NOT_UTF8);
    else if (texts.includes('')) fault(name, 'must not be empty: leave it out instead');
    else if (parameter.maxItems !== undefined) input.values[parameter.property] = texts;
    else if (texts.length > 1) fault(name, 'must not be repeated');
    else input.values[parameter.property] = (parameter.convert ?? String)(texts[0]);
  }
  const allowed = [...parameters.keys()].join(', ');
  for (const name of unknown.slice(0, UNKNOWN_TOLD_MAX)) {
    fault(echo(name, request), `is not known: allowed are ${allowed}`);
  }
  const more = unknown.length - UNKNOWN_TOLD_MAX;
  if (more > 0) fault(QUERY, `has more names that are not known: ${more}`);
  if (request.rawQuery.some(([, , broken]) => broken === 'name')) fault(QUERY, NOT_UTF8);
}

/** The texts sent under each name; none where one of them is broken. */
function groupByName(pairs: RawQuery): Map<string, [string, ...string[]] | undefined> {
  const byName = new Map<string, [string, ...string[]] | undefined>();
  for (const [name, text, broken] of pairs) {
    if (name === API_KEY_QUERY || broken === 'name') continue;
    const texts = byName.get(name);
    if (broken) byName.set(name, undefined);
    else if (texts) texts.push(text);
    else if (!byName.has(name)) byName.set(name, [text]);
  }
  return byName;
}

/** A name as the error may show it: not when it may hold a key. */
function echo(name: string, request: ApiRequest): string {
  return SHOWN_NAME.test(name) && !mayHoldKey(name, request) ? name : '(not shown)';
}
