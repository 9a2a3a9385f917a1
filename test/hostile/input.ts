import { faulty, fine, notFound, printed, SENTINEL, wire, words } from './request.js';
import type { HostileRequest, Lookup } from './request.js';

/** A query, and the names in it that are at fault. */
type BadQuery = readonly [query: string, ...names: string[]];

const manyNames = Array.from({ length: 1_001 }, (_, index) => `n${index}`);

const UNKNOWN_NAMES: readonly BadQuery[] = [
  ['marketType[$ne]=BTTS', 'marketType[$ne]'],
  ['marketType[$gt]=', 'marketType[$gt]'],
  ['marketType[]=BTTS', 'marketType[]'],
  ['marketType[0]=BTTS', 'marketType[0]'],
  ['marketType[a][b]=BTTS', 'marketType[a][b]'],
  ['marketType%5B%24ne%5D=BTTS', 'marketType[$ne]'],
  ['marketMoment[$regex]=.', 'marketMoment[$regex]'],
  ['marketMoment[$exists]=true', 'marketMoment[$exists]'],
  ['page[]=1', 'page[]'],
  ['take[$gt]=0', 'take[$gt]'],
  ['$where=sleep(5000)', '$where'],
  ['$or=1', '$or'],
  ['__proto__=1', '__proto__'],
  ['__proto__[page]=1', '__proto__[page]'],
  ['constructor=1', 'constructor'],
  ['constructor[prototype][x]=1', 'constructor[prototype][x]'],
  ['prototype=1', 'prototype'],
  ['toString=1', 'toString'],
  ['hasOwnProperty=1', 'hasOwnProperty'],
  ['then=1', 'then'],
  ['length=1', 'length'],
  ['Provider=Northbook', 'Provider'],
  ['status=OPEN', 'status'],
  ['fixtureId[]=other', 'fixtureId[]'],
  ['_id=1', '_id'],
  ['sort=_id', 'sort'],
  ['limit=5', 'limit'],
  ['skip=5', 'skip'],
  ['Page=1', 'Page'],
  ['TAKE=1', 'TAKE'],
  ['markettype=BTTS', 'markettype'],
  ['market_type=BTTS', 'market_type'],
  ['page%20=1', 'page '],
  ['+page=1', ' page'],
  ['p%C3%A4ge=1', 'päge'],
  ['%3Cscript%3E=1', '<script>'],
  ['=1', ''],
  ['=', ''],
  ['nope', 'nope'],
  ['a=1&b=2&a=3', 'a', 'b'],
  ['page=1&amp;take=2', 'amp;take'],
  // Longer names are told of, but not repeated.
  [`${'x'.repeat(64)}=1`, 'x'.repeat(64)],
  [`${'x'.repeat(65)}=1`, '(not shown)'],
  // More than 20 unknown names are counted, under the query as a whole.
  [manyNames.join('&'), ...manyNames.slice(0, 20), '?'],
  [manyNames.slice(0, 21).join('&'), ...manyNames.slice(0, 20), '?'],
  [manyNames.slice(0, 20).join('&'), ...manyNames.slice(0, 20)],
  [`${'n&'.repeat(1_100)}take=101`, 'n', 'take'],
];

const REPEATED_OR_EMPTY: readonly BadQuery[] = [
  ['page=1&page=1', 'page'],
  ['take=10&take=10', 'take'],
  ['page=1&%70age=2', 'page'],
  ['page=&page=1', 'page'],
  ['page=', 'page'],
  ['page', 'page'],
  ['take=', 'take'],
  ['marketType=BTTS&marketType=BTTS', 'marketType'],
  ['marketType=BTTS&marketType=MATCH_ODDS&market%54ype=BTTS', 'marketType'],
  ['marketStatus=OPEN&marketStatus=%4FPEN', 'marketStatus'],
  ['provider=a&provider=b&provider=a', 'provider'],
  ['marketType=BTTS&marketType=', 'marketType'],
  ['marketType=', 'marketType'],
  ['marketMoment=', 'marketMoment'],
  ['marketStatus', 'marketStatus'],
  ['provider=&provider=', 'provider'],
  ['marketType=&marketMoment=', 'marketType', 'marketMoment'],
  [times(21, (n) => `provider=p${n}`), 'provider'],
  [times(21, (n) => `marketStatus=s${n}`), 'marketStatus'],
  [times(1_000, () => 'marketType=BTTS'), 'marketType'],
];

/** A name alone where its value is broken; `?`, the query as a whole, where a name is. */
const NOT_UTF8: readonly BadQuery[] = [
  ['page=%', 'page'],
  ['page=%zz', 'page'],
  ['page=1%E0%A4', 'page'],
  ['page=1%u0031', 'page'],
  ['marketType=%FF', 'marketType'],
  ['marketType=%C0%AF', 'marketType'],
  ['marketType=BTTS&marketType=%ED%A0%80', 'marketType'],
  ['provider=%FF', 'provider'],
  ['provider=%FF&provider=a', 'provider'],
  ['marketStatus=%', 'marketStatus'],
  ['page=1#2', 'page'],
  ['page=%&take=%', 'page', 'take'],
  ['nope=%', 'nope'],
  ['%zz=1', '?'],
  ['%FF=%FF&%FE=1', '?'],
  ['pa#ge=1', '?'],
  ['%=&take=0', '?', 'take'],
];

const SEVERAL: readonly BadQuery[] = [
  ['page=0&take=101', 'page', 'take'],
  [
    'page=0&take=101&marketType=x&marketMoment=y&nope=1&Nope=2',
    ...words('page take marketType marketMoment nope Nope'),
  ],
  [
    'marketType=x&marketType=y&marketStatus=%00&provider=%7F&marketMoment=live,prelive',
    ...words('marketType marketStatus provider marketMoment'),
  ],
];

/** Not of 1 to 256 characters, or with control characters among them. */
const NOT_FILTER_TEXTS = [
  ...words('%00 a%00 %0A %09 %1F %7F %C2%80 %C2%9F OPEN%0D%0A'),
  'a'.repeat(257),
  '%F0%9F%98%80'.repeat(257),
];

const NOT_PLAIN_NUMBERS = [
  ...words('0 00 01 -1 -0 %2B1 +1 %201 1%20 1%09 1%0A %0D%0A1 1%00 %EF%BB%BF1 1.0 1. .5 1,5'),
  ...words('1e2 1E0 0x10 0b1 0o7 1_0 1n Infinity NaN null undefined true [] [1] {}'),
  ...words("%7B%22%24gt%22:0%7D 1%26take=5 1;take=5 1'-- %2531"),
  // One, in Arabic, fullwidth, superscript, circled and Devanagari digits.
  ...words('%D9%A1 %EF%BC%91 %C2%B9 %E2%91%A0 %E0%A5%A7'),
  // 2^53, 2^53 + 1, 2^64 + 1.
  ...words('9007199254740992 9007199254740993 18446744073709551617'),
  '1'.padEnd(400, '0'),
];

const NOT_MARKET_TYPES = [
  ...words('btts Btts BTT BTTS%20 %20BTTS BTTS%00 BTTS%0A BTTS,MATCH_ODDS %D0%92TTS null * /.*/ 0'),
  ...words(
    'BTTS%26marketType=MATCH_ODDS %7B%22$ne%22:null%7D [object%20Object] toString __proto__',
  ),
];

const NOT_MARKET_MOMENTS = words('LIVE Live live%20 pre-live prelive%00 l%C4%B1ve $ne true length');

const BAD_IDS = [
  ...words('%00 a%00b a%0Ab a%0D%0AX-Injected:%201 %09 %1F %7F %C2%80 %C2%9F a#b'),
  ...words('% a% %zz %2 %u0041 %FF %C0%AF %E0%80%AF %E0%A4%A %ED%A0%80 %F4%90%80%80'),
  'a'.repeat(257),
  '%F0%9F%98%80'.repeat(257),
  '%20'.repeat(257),
];

const OPAQUE_IDS = [
  ...words('. .. %2E%2E ..%2F..%2Fetc%2Fpasswd %252e%252e%252f %2500 * :eventId $ne [$ne] %20'),
  ...words("%7B%22$gt%22:%22%22%7D '%20OR%201=1 %3Cscript%3E ;jsessionid=1 a;b=c,d a+b ~!@$&()"),
  ...words('__proto__ constructor null undefined %E2%80%AE %EF%BF%BE {}|\\^`"<>'),
  '%F0%9F%98%80'.repeat(256),
  'a'.repeat(256),
];

const GOOD_FILTERS = [
  'marketType=BTTS&marketType=MATCH_ODDS&marketMoment=live&marketMoment=prelive',
  ...['provider', 'marketStatus'].flatMap((name) => [
    times(20, (n) => `${name}=v${n}`),
    ...words("a,b $ne {%22$ne%22:null} + %20 %EF%BF%BD * null __proto__ 'x'").map(
      (text) => `${name}=${text}`,
    ),
    `${name}=${'%F0%9F%98%80'.repeat(256)}`,
    `${name}=open&${name}=OPEN`,
  ]),
];

const UNKNOWN_PATHS = [
  ...words('/ /v1 /v1/markets /v2/markets/market/provider/a /health /health/live/ /health/ready/x'),
  ...words('/favicon.ico /.env /.git/config /docs/../package.json /docs/%2e%2e/package.json'),
  ...words('/docs/..%2fpackage.json /docs/%00 /docs/%zz /docs/nothing.js /docs-json'),
  ...words('/openapi.json/ /openapi.yaml /% /%zz /%00 *'),
];

/** Queries and ids that are not as they must be; and ids that look worse than they are. */
export function hostileInput({ route, id, path }: Lookup): HostileRequest[] {
  const values = [
    ...NOT_PLAIN_NUMBERS.flatMap((text) => [`page=${text}`, `take=${text}`]),
    ...words('take=101 take=1000 take=9007199254740991'),
    ...NOT_MARKET_TYPES.map((text) => `marketType=${text}`),
    ...NOT_MARKET_MOMENTS.map((text) => `marketMoment=${text}`),
    ...NOT_FILTER_TEXTS.flatMap((text) => [`marketStatus=${text}`, `provider=${text}`]),
  ].map((query): BadQuery => [query, query.slice(0, query.indexOf('='))]);
  const queries = [
    ...values,
    [`${id}=other`, id] as const,
    ...UNKNOWN_NAMES,
    ...REPEATED_OR_EMPTY,
    ...NOT_UTF8,
    ...SEVERAL,
  ];
  return [
    ...queries.map(([query, ...names]) => ({
      name: `?${printed(query)}`,
      bytes: wire(`${path}?${query}`),
      answers: [faulty(...names.map((name) => `query ${name}`))],
    })),
    ...BAD_IDS.map((text) => ({
      name: `id ${printed(text)}`,
      bytes: wire(`${route}/${text}`),
      answers: [faulty(`path ${id}`)],
    })),
    ...OPAQUE_IDS.map((text) => ({
      name: `id ${printed(text)}, as good as any`,
      bytes: wire(`${route}/${text}`),
      answers: [fine],
    })),
    ...GOOD_FILTERS.map((query) => ({
      name: `?${printed(query)}, as good as any`,
      bytes: wire(`${path}?${query}`),
      answers: [fine],
    })),
    {
      name: 'faults in path and query at once',
      bytes: wire(`${route}/%00?page=0&nope=1`),
      answers: [faulty(`path ${id}`, 'query page', 'query nope')],
    },
  ];
}

/** Paths that are nobody's, some of which a router could take for another. */
export function hostilePaths({ route, path }: Lookup): HostileRequest[] {
  return [
    ...UNKNOWN_PATHS,
    ...words(`${route} ${route}/ ${path}/ ${path}/x ${path}// /${path}`),
    path.replace('/v1', '/V1'),
    path.replace('/market/', '/Market/'),
    path.replace('/market/', '//market/'),
    path.replace('/market/', '/./market/'),
    path.replace('/market/', '/../markets/market/'),
    path.replace('/market/', '%2Fmarket/'),
    path.replace('markets', 'm%61rkets'),
    `${route}%2F${SENTINEL}`,
  ].map((target) => ({
    name: `path ${printed(target)}`,
    bytes: wire(target),
    answers: [notFound],
  }));
}

function times(count: number, part: (n: number) => string): string {
  return Array.from({ length: count }, (_, n) => part(n)).join('&');
}
