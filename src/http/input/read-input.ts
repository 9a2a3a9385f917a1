import { groupBy } from '../../common/group-by.js';
import type { ApiRequest } from '../api-request.js';
import { API_KEY_QUERY, mayHoldKey } from '../credentials.js';
import type { RequestFault } from '../problem-body.dto.js';
import { NOT_IN_A_TARGET, pathOf } from '../raw-query.js';
import type { Parameter } from './parameters.js';

/** Names that an error can show: not too long, nothing invisible in them, nothing encoded twice. */
const SHOWN_NAME = /^[^%\p{C}]{0,64}$/u;

/** Unknown names that an error tells one by one: its size must not grow with the request's. */
const UNKNOWN_TOLD_MAX = 20;

const NOT_UTF8 = 'must be valid percent-encoded UTF-8';

/** Names the query as a whole in a fault. */
const QUERY = '?';

/** What was sent under one name; undefined stands for what can't be decoded. */
type Texts = readonly (string | undefined)[];

/** The values of the parameters by name, and the faults of the request; of many unknown names the rest is counted. */
export function readInput(request: ApiRequest, parameters: readonly Parameter[]) {
  const values: Record<string, unknown> = {};
  const faults: RequestFault[] = [];
  const named = request.rawQuery.filter(
    ([name, , broken]) => name !== API_KEY_QUERY && broken !== 'name',
  );
  const byName = groupBy(named, ([name]) => name);
  for (const parameter of parameters) {
    const { in: where, name, maxItems, convert = String, rule } = parameter;
    const texts =
      where === 'query'
        ? (byName.get(name) ?? []).map(([, text, broken]) => (broken ? undefined : text))
        : textsOutsideQuery(request, parameter);
    const converted = texts.map((text) => convert(String(text)));
    const detail = faultOf(texts, maxItems) ?? rule(converted);
    if (detail) faults.push({ in: where, name, detail });
    else if (texts.length > 0) values[name] = maxItems ? converted : converted[0];
  }
  const inQuery = parameters.filter((each) => each.in === 'query');
  const allowed = inQuery.map(({ name }) => name);
  const unknown = [...byName.keys()].filter((name) => !allowed.includes(name));
  const fault = (name: string, detail: string) => faults.push({ in: 'query', name, detail });
  for (const name of unknown.slice(0, UNKNOWN_TOLD_MAX)) {
    const meant = inQuery.find((each) => each.maxItems && isListOf(each.name, name));
    const help = meant
      ? `for several, repeat the name ${meant.name}`
      : `allowed are ${allowed.join(', ')}`;
    fault(shownName(name, request), `is not known: ${help}`);
  }
  const more = unknown.length - UNKNOWN_TOLD_MAX;
  if (more > 0) fault(QUERY, `has more names that are not known: ${more}`);
  if (request.rawQuery.some(([, , broken]) => broken === 'name')) fault(QUERY, NOT_UTF8);
  return { values, faults };
}

/** Whether it is `name[]` or `name[0]`, as PHP and others write lists. */
function isListOf(name: string, sent: string): boolean {
  return sent.startsWith(`${name}[`) && sent.endsWith(']');
}

/** What was sent in the path or in a header. */
function textsOutsideQuery(request: ApiRequest, { in: where, name }: Parameter): Texts {
  const header = request.headers[name.toLowerCase()];
  // An empty header counts as none.
  if (where === 'header') return header ? [String(header)] : [];
  try {
    if (NOT_IN_A_TARGET.test(pathOf(request.originalUrl))) return [undefined];
    return [decodeURIComponent(String(request.params[name]))];
  } catch {
    return [undefined];
  }
}

function faultOf(texts: Texts, maxItems: number | undefined): string | undefined {
  if (texts.includes(undefined)) return NOT_UTF8;
  if (texts.includes('')) return 'must not be empty: leave it out instead';
  if (texts.length > 1 && maxItems === undefined) return 'must not be repeated';
  if (maxItems !== undefined && texts.length > maxItems)
    return `must not be given more than ${maxItems} times`;
  if (new Set(texts).size < texts.length) return 'must not have the same value twice';
  return undefined;
}

/** A name as the error may show it: not when it may hold a key. */
function shownName(name: string, request: ApiRequest): string {
  return SHOWN_NAME.test(name) && !mayHoldKey(name, request) ? name : '(not shown)';
}
