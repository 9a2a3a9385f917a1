import type { ApiRequest } from './api-request.js';

export const API_KEY_QUERY = 'api_key';
export const API_KEY_HEADER = 'X-API-Key';
const HEADER = API_KEY_HEADER.toLowerCase();

/** Every API key that came with a request, as sent, empty ones too. */
export function credentialsOf({ rawQuery, rawHeaders }: ApiRequest) {
  return {
    inQuery: rawQuery.filter(([name]) => name === API_KEY_QUERY).map(([, value]) => value),
    // Names and values in turn: Node's own `headers` joins or drops repeated ones.
    inHeader: rawHeaders.filter(
      (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === HEADER,
    ),
  };
}
