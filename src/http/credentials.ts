import type { ApiRequest } from './api-request.js';

export const API_KEY_QUERY = 'api_key';
export const API_KEY_HEADER = 'X-API-Key';

/** Every API key that came with a request, as sent, empty ones too. */
export function credentialsOf({
  rawQuery,
  rawHeaders,
}: Pick<ApiRequest, 'rawQuery' | 'rawHeaders'>): { inQuery: string[]; inHeader: string[] } {
  return {
    inQuery: rawQuery.filter(([name]) => name === API_KEY_QUERY).map(([, value]) => value),
    inHeader: headerLines(rawHeaders, API_KEY_HEADER.toLowerCase()),
  };
}

/** The values of a header, one for each line: Node's own `headers` joins or drops repeated ones. */
function headerLines(rawHeaders: readonly string[], lowerCaseName: string): string[] {
  return rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === lowerCaseName,
  );
}
