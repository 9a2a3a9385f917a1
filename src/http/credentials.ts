import type { ApiRequest } from './api-request.js';

export const API_KEY_QUERY = 'api_key';
export const API_KEY_HEADER = 'X-API-Key';
/** As Node names it. */
export const KEY_HEADER = API_KEY_HEADER.toLowerCase();

/** Every API key that came with a request, as sent, empty ones too. */
export function credentialsOf({ rawQuery, rawHeaders }: ApiRequest) {
  return {
    inQuery: rawQuery.filter(([name]) => name === API_KEY_QUERY).map(([, value]) => value),
    // Names and values in turn: Node's own `headers` joins or drops repeated ones.
    inHeader: rawHeaders.filter(
      (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === KEY_HEADER,
    ),
  };
}

/**
 * What keys begin with; or 24 letters and digits in a row that are as mixed as a key's secret: names in camel
 * case have fewer capitals, UUIDs and trace ids are of one case.
 */
const KEY_LIKE =
  /[Mm][Oo][Ss]_|(?=[0-9A-Za-z]{24})(?=[0-9A-Z]*[a-z])(?=[0-9a-z]*[A-Z])(?=(?:[a-z]*[0-9A-Z]){6})/;

/** Where a key's secret starts (`mos_<id 12>_`), and how many characters in common give it away. */
const SECRET_STARTS_AT = 17;
const SHARED = 6;

/** If the keys of a request are longer than this together, no text is shown: to look through 16 KiB takes some 5 ms. */
const KEYS_LENGTH_MAX = 1_024;

/**
 * Whether a text from a request may hold a key, or part of the secret of one that came with the request: such a text is
 * not shown. It takes the length of the text times that of the keys: ask for short texts alone.
 */
export function mayHoldKey(text: string, request: ApiRequest): boolean {
  const { inQuery, inHeader } = credentialsOf(request);
  const keys = [...inQuery, ...inHeader];
  const length = keys.reduce((sum, key) => sum + key.length, 0);
  return (
    KEY_LIKE.test(text) || length > KEYS_LENGTH_MAX || keys.some((key) => sharesSecret(text, key))
  );
}

function sharesSecret(text: string, key: string): boolean {
  for (let start = 0; start + SHARED <= text.length; start++) {
    if (key.includes(text.slice(start, start + SHARED), SECRET_STARTS_AT)) return true;
  }
  return false;
}
