import {
  ambiguous,
  faulty,
  fine,
  HOST,
  printed,
  rateLimited,
  unauthorized,
  wire,
} from './request.js';
import type { Expected, HostileRequest, Lookup } from './request.js';

const IN_QUERY: readonly (readonly [query: string, expected: Expected])[] = [
  ['', unauthorized],
  ['api_key', unauthorized],
  ['api_key=', unauthorized],
  ['api_key=%20', unauthorized],
  ['api_key=x', unauthorized],
  ['api_key=%zz', unauthorized],
  ['api_key=%00', unauthorized],
  ['api_key=null', unauthorized],
  ['api_key[]=<key>', unauthorized],
  ['api_key[$ne]=', unauthorized],
  ['API_KEY=<key>', unauthorized],
  ['apiKey=<key>', unauthorized],
  ['key=<key>', unauthorized],
  ['api_key=<key>x', unauthorized],
  ['api_key=x<key>', unauthorized],
  ['api_key=<key>+', unauthorized],
  ['api_key=<key>%00', unauthorized],
  ['api_key=%22<key>%22', unauthorized],
  ['api_key=mos_', unauthorized],
  [`api_key=mos_${'0'.repeat(12)}_${'0'.repeat(38)}`, unauthorized],
  [`api_key=${'A'.repeat(8_000)}`, unauthorized],
  ['api_key=<expired>', unauthorized],
  ['api_key=<revoked>', unauthorized],
  ['api_key=<unknown>', unauthorized],
  ['api_key=<key>&api_key=<key>', ambiguous],
  ['api_key=<key>&%61pi_key=<key>', ambiguous],
  ['api_key=<key>&api_key=', ambiguous],
  ['api_key=x&api_key=y', ambiguous],
  ['api_key&api_key', ambiguous],
  ['api_key=<limited>', rateLimited],
];

const IN_HEADERS: readonly (readonly [lines: readonly string[], expected: Expected])[] = [
  [['X-API-Key:'], unauthorized],
  [['X-API-Key:  \t'], unauthorized],
  [['X-API-Key: x'], unauthorized],
  [['X-API-Key: "<key>"'], unauthorized],
  [['X-API-Key: <key>, <key>'], unauthorized],
  [['X-API-Key: <key> <key>'], unauthorized],
  [['X-API-Key: ApiKey <key>'], unauthorized],
  [['X-API-Key: <expired>'], unauthorized],
  [['X-API-Key: <revoked>'], unauthorized],
  [['X-API-Key: <unknown>'], unauthorized],
  [['X-API-Key: \xff\xfe'], unauthorized],
  [['X_API_Key: <key>'], unauthorized],
  [['Authorization: Bearer <key>'], unauthorized],
  [['Authorization: ApiKey <key>'], unauthorized],
  [['Proxy-Authorization: <key>'], unauthorized],
  [['Cookie: api_key=<key>; X-API-Key=<key>'], unauthorized],
  [['X-Original-URL: /health/live', 'X-Rewrite-URL: /health/live'], unauthorized],
  [['X-Forwarded-For: 127.0.0.1', 'Forwarded: for=127.0.0.1'], unauthorized],
  [['X-API-Key: <key>', 'X-API-Key: <key>'], ambiguous],
  [['X-API-Key: <key>', 'x-api-key: <unknown>'], ambiguous],
  [['X-API-Key: <key>', 'X-API-Key:'], ambiguous],
  [['X-API-Key: <key>', ...Array<string>(3_000).fill('a:'), 'X-API-Key: <unknown>'], ambiguous],
  [[...Array<string>(3_000).fill('a:'), 'X-API-Key: <unknown>'], unauthorized],
  [['X-API-Key: <limited>'], rateLimited],
  [['x-aPi-kEY:\t<key> '], fine],
  [['X-API-Key: <key>', 'Connection: X-API-Key'], fine],
];

/** The header holds the good key, too. */
const IN_BOTH: readonly (readonly [query: string, expected: Expected])[] = [
  ['api_key=<key>', ambiguous],
  ['api_key=', ambiguous],
  ['api_key', ambiguous],
  ['api_key=x&page=0', ambiguous],
  ['api_key[]=<key>', faulty('query api_key[]')],
  ['API_KEY=<key>', faulty('query API_KEY')],
  ['<key>=1', faulty('query (not shown)')],
  ['<key>', faulty('query (not shown)')],
];

/** Keys that are none, or too many; a body of one shape, whatever is wrong. */
export function hostileCredentials({ path }: Lookup): HostileRequest[] {
  return [
    ...IN_QUERY.map(([query, expected]) => ({
      name: `key in ?${printed(query)}`,
      bytes: wire(`${path}?${query}`, { headers: [HOST] }),
      answers: [expected],
    })),
    ...IN_HEADERS.map(([lines, expected]) => ({
      name: `key in ${printed(lines.join(' | '))}`,
      bytes: wire(path, { headers: [HOST, ...lines] }),
      answers: [expected],
    })),
    ...IN_BOTH.map(([query, expected]) => ({
      name: `key in the header and ?${printed(query)}`,
      bytes: wire(`${path}?${query}`),
      answers: [expected],
    })),
    {
      name: 'key in a trailer',
      bytes: wire(path, {
        headers: [HOST, 'Transfer-Encoding: chunked'],
        body: '0\r\nX-API-Key: <key>\r\n\r\n',
      }),
      answers: [unauthorized],
    },
    {
      name: 'key in the user information of the target',
      bytes: wire(`http://<key>@odds.example${path}`, { headers: [HOST] }),
      answers: [unauthorized],
    },
  ];
}
