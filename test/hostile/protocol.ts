import {
  ambiguous,
  faulty,
  fine,
  GOOD_KEY,
  HOST,
  malformed,
  notAllowed,
  notFound,
  printed,
  rateLimited,
  unauthorized,
  utf8,
  wire,
  words,
} from './request.js';
import type { Expected, HostileRequest, Lookup } from './request.js';

type Case = readonly [name: string, bytes: string, ...answers: Expected[]];

/** What methods, targets, versions and framing can be like, and which check comes before which. */
export function hostileProtocol(lookup: Lookup): HostileRequest[] {
  return [
    ...methods(lookup),
    ...orderOfChecks(lookup),
    ...targets(lookup),
    ...versionsAndHosts(lookup),
    ...framing(lookup),
    ...headers(lookup),
    ...pipelines(lookup),
  ].map(([name, bytes, ...answers]) => ({ name, bytes, answers }));
}

function methods({ path }: Lookup): Case[] {
  const refused = words(
    'POST PUT PATCH DELETE OPTIONS TRACE CONNECT QUERY SEARCH PROPFIND MKCOL LOCK PURGE LINK SUBSCRIBE M-SEARCH',
  );
  const unknown = words('get Get head FOO GETT G\xcbT CONNECTED $ne \x16\x03\x01');
  const preflight = ['Origin: http://a.example', 'Access-Control-Request-Method: GET'];
  return [
    ...refused.map((method): Case => [`method ${method}`, wire(path, { method }), notAllowed]),
    ...unknown.map((method): Case => [
      `method ${printed(method)}`,
      wire(path, { method }),
      malformed(),
    ]),
    [
      'a CORS preflight',
      wire(path, { method: 'OPTIONS', headers: [HOST, ...preflight] }),
      notAllowed,
    ],
    ['CONNECT to elsewhere', wire('evil.example:443', { method: 'CONNECT' }), notAllowed],
    [
      'POST that says it is GET',
      wire(path, { method: 'POST', headers: [HOST, GOOD_KEY, 'X-HTTP-Method-Override: GET'] }),
      notAllowed,
    ],
    [
      'GET that says it is DELETE',
      wire(path, { headers: [HOST, GOOD_KEY, 'X-HTTP-Method-Override: DELETE'] }),
      fine,
    ],
    [
      'POST with a body',
      wire(path, { method: 'POST', headers: [HOST, 'Content-Length: 8'], body: '{"a": 1}' }),
      notAllowed,
    ],
    ['OPTIONS *', wire('*', { method: 'OPTIONS' }), notFound],
    ['POST to a probe', wire('/health/live', { method: 'POST' }), notAllowed],
    ['DELETE of the document', wire('/openapi.json', { method: 'DELETE' }), notAllowed],
  ];
}

function orderOfChecks({ route, path }: Lookup): Case[] {
  const noKey = [HOST];
  const twoKeys = [HOST, GOOD_KEY, GOOD_KEY];
  const limited = [HOST, 'X-API-Key: <limited>'];
  return [
    ['404 before 405', wire('/nope', { method: 'POST' }), notFound],
    ['404 before the key', wire('/nope', { headers: noKey }), notFound],
    ['404 before two keys', wire('/nope', { headers: twoKeys }), notFound],
    ['404 before the limit', wire('/nope', { headers: limited }), notFound],
    ['404 before the input', wire('/nope/%zz?page=0'), notFound],
    ['405 before the key', wire(path, { method: 'PUT', headers: noKey }), notAllowed],
    ['405 before two keys', wire(path, { method: 'PUT', headers: twoKeys }), notAllowed],
    ['405 before the limit', wire(path, { method: 'PUT', headers: limited }), notAllowed],
    ['405 before the input', wire(`${route}/%zz?page=0`, { method: 'PUT' }), notAllowed],
    ['the key before the id', wire(`${route}/%zz`, { headers: noKey }), unauthorized],
    ['the key before the query', wire(`${path}?page=0&nope=%zz`, { headers: noKey }), unauthorized],
    ['two keys before the input', wire(`${route}/%00?page=0`, { headers: twoKeys }), ambiguous],
    ['the limit before the id', wire(`${route}/%zz`, { headers: limited }), rateLimited],
    ['the limit before the query', wire(`${path}?page=0`, { headers: limited }), rateLimited],
  ];
}

function targets({ path, id }: Lookup): Case[] {
  return [
    ['an absolute target', wire(`http://evil.example${path}`), fine],
    ['an absolute target, faulty', wire(`http://evil.example${path}?page=0`), faulty('query page')],
    ['an absolute target, unknown', wire('http://evil.example/nope'), notFound],
    ['an absolute target without a path', wire('http://evil.example'), notFound],
    ['a target with user information', wire(`http://u:p@evil.example${path}`), fine],
    ['a target without its first slash', wire(path.slice(1)), malformed()],
    ['a target that begins with two slashes', wire(`//evil.example${path}`), notFound],
    ['an empty target', wire(''), malformed()],
    ['a space in the target', wire(`${path} x`), malformed()],
    ['a tab in the target', wire(`${path}\tx`), malformed()],
    ['a tab after the method', wire(path).replace('GET ', 'GET\t'), malformed()],
    ['NUL in the target', wire(`${path}\0`), malformed()],
    ['CR in the target', wire(`${path}\rx`), malformed()],
    ['raw UTF-8 in the path', wire(path + utf8('é')), malformed()],
    ['raw UTF-8 in the query', wire(`${path}?marketType=${utf8('é')}`), malformed()],
    ['a byte that is no UTF-8 in the path', wire(`${path}\xff`), malformed()],
    ['DEL in the path', wire(`${path}\x7f`), malformed()],
    ['a fragment', wire(`${path}#top`), faulty(`path ${id}`)],
    ['a target of 20 KB', wire(path + 'a'.repeat(20_000)), malformed(431)],
    ['a query of 20 KB', wire(`${path}?a=${'a'.repeat(20_000)}`), malformed(431)],
  ];
}

function versionsAndHosts({ path }: Lookup): Case[] {
  const badHost = { ...malformed(), faults: ['header Host'] };
  const withHosts = (...lines: string[]) => wire(path, { headers: [...lines, GOOD_KEY] });
  return [
    ['HTTP/0.9', `GET ${path}\r\n\r\n`, malformed()],
    ['HTTP/0.9 with headers', `GET ${path}\r\n${GOOD_KEY}\r\n\r\n`, malformed()],
    ['HTTP/0.9 by name', wire(path, { version: 'HTTP/0.9' }), malformed()],
    ['HTTP/1.0 without a host', wire(path, { version: 'HTTP/1.0', headers: [GOOD_KEY] }), fine],
    ['HTTP/1.2', wire(path, { version: 'HTTP/1.2' }), malformed()],
    ['HTTP/2.0 in the old form', wire(path, { version: 'HTTP/2.0' }), malformed()],
    ['HTTP/3.0', wire(path, { version: 'HTTP/3.0' }), malformed()],
    ['a version in lower case', wire(path, { version: 'http/1.1' }), malformed()],
    ['another protocol', wire(path, { version: 'SIP/2.0' }), malformed()],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', malformed()],
    ['a TLS handshake', '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03', malformed()],
    ['plain words', 'hello\r\n\r\n', malformed()],
    ['no host', withHosts(), badHost],
    ['no host and no key', wire(path, { headers: [] }), badHost],
    ['no host, unknown path', wire('/nope', { headers: [] }), badHost],
    ['an empty host', withHosts('Host:'), badHost],
    ['two hosts', withHosts(HOST, 'hOST: evil.example'), badHost],
    ['twice the same host', withHosts(HOST, HOST), badHost],
    ['two hosts, far apart', withHosts(HOST, ...Array<string>(3_000).fill('a:'), HOST), badHost],
    ['a host that is a path', withHosts('Host: a/b?c#d'), badHost],
    ['two hosts in one', withHosts('Host: a, b@c d'), badHost],
    ['a host by IPv6 address', withHosts('Host: [::1]:3000'), fine],
  ];
}

const brokenBody = (status = 400) => ({ ...malformed(status), inBody: true });
const length = (text: string) => `Content-Length: ${text}`;
const upgrade = (protocol: string) => ['Connection: Upgrade', `Upgrade: ${protocol}`];

function framing({ path }: Lookup): Case[] {
  const framed = (lines: readonly string[], body = '', method = 'GET') =>
    wire(path, { method, headers: [HOST, GOOD_KEY, ...lines], body });
  const chunked = 'Transfer-Encoding: chunked';
  return [
    ['length and chunks', framed([length('5'), chunked], '0\r\n\r\n'), malformed()],
    ['chunks and length', framed([chunked, length('5')], '0\r\n\r\n'), malformed()],
    [
      'POST with length and chunks',
      framed([length('5'), chunked], '0\r\n\r\n', 'POST'),
      malformed(),
    ],
    ['two equal lengths', framed([length('1'), length('1')], 'x'), malformed()],
    ['two lengths', framed([length('0'), length('5')], 'x'), malformed()],
    ['a list of lengths', framed([length('1, 1')], 'x'), malformed()],
    ['a length below zero', framed([length('-1')], 'x'), malformed()],
    ['a length with a sign', framed([length('+1')], 'x'), malformed()],
    ['a length in hex', framed([length('0x1')], 'x'), malformed()],
    ['an empty length', framed([length('')]), malformed()],
    ['a length above 2^64', framed([length('99999999999999999999999')], 'x'), malformed()],
    ['a space before the colon', framed(['Content-Length : 1'], 'x'), malformed()],
    [
      'chunks under another name',
      framed(['Transfer-Encoding: xchunked'], '0\r\n\r\n'),
      malformed(),
    ],
    ['chunks said twice', framed([chunked, chunked], '0\r\n\r\n'), malformed()],
    ['chunks not last', framed(['Transfer-Encoding: chunked, identity'], '0\r\n\r\n'), malformed()],
    ['identity', framed(['Transfer-Encoding: identity']), malformed()],
    ['a chunk of no number', framed([chunked], 'zz\r\n\r\n'), brokenBody()],
    ['a chunk below zero', framed([chunked], '-1\r\n\r\n'), brokenBody()],
    [
      'chunk extensions of 20 KB',
      framed([chunked], `1;${'a'.repeat(20_000)}\r\nx\r\n0\r\n\r\n`),
      brokenBody(413),
    ],
    ['a body that never comes', framed([length('1000000')]), fine],
    ['a body', framed([length('4')], '1234'), fine],
    ['broken JSON', framed(['Content-Type: application/json', length('2')], '{"'), fine],
    [
      'an encoding of the body that is none',
      framed(['Content-Encoding: bogus', length('4')], '1234'),
      fine,
    ],
    ['lines that end in LF alone', wire(path).replaceAll('\r\n', '\n'), malformed()],
    ['one line that ends in LF alone', framed(['A: b\nC: d']), malformed()],
    ['CR alone in a header', framed(['A: b\rC: d']), malformed()],
    ['empty lines first', `\r\n\r\n${wire(path)}`, fine],
  ];
}

function headers({ path }: Lookup): Case[] {
  const withLines = (...lines: string[]) => wire(path, { headers: [HOST, GOOD_KEY, ...lines] });
  const ignored = [
    'Range: bytes=0-1',
    'If-Range: "a"',
    'If-Match: "nope"',
    'If-None-Match: "nope',
    `If-None-Match: ${'"a",'.repeat(2_000)}`,
    'If-Modified-Since: Sat, 21 Nov 2099 07:03:00 GMT',
    'If-Unmodified-Since: Sat, 21 Nov 1999 07:03:00 GMT',
    'Accept: text/xml',
    'Accept: ;;;q=',
    'Accept-Encoding: *;q=0',
    'Accept-Encoding: identity;q=0',
    'Accept-Encoding: \xff,;;=,gzip;q=abc',
    'Accept-Language: xx',
    'Origin: http://evil.example',
    'Origin: null',
    'Upgrade: websocket',
    'X-Forwarded-Host: evil.example',
    'X-Forwarded-Proto: javascript',
    'Connection: close, keep-alive, upgrade',
    'Keep-Alive: timeout=999999',
    'Expect: 100-continue',
    'X-Obs-Text: \x80\xff',
    'X-Request-Id: ../../etc/passwd',
    `X-Request-Id: ${'a'.repeat(5_000)}`,
    'X-Request-Id: <script>alert(1)</script>',
    `Cookie: ${'a'.repeat(8_000)}`,
    '__proto__: 1',
    'constructor: 1',
  ];
  return [
    ...ignored.map((line): Case => [`header ${printed(line)}`, withLines(line), fine]),
    ['an upgrade to WebSocket', withLines(...upgrade('websocket')), fine],
    ['an upgrade to HTTP/2', withLines(...upgrade('h2c'), 'HTTP2-Settings: AAMAAABkAAQ'), fine],
    ['a folded header', withLines('A: 1', ' 2'), malformed()],
    [
      'a fold before the first header',
      wire(path, { headers: [` ${HOST}`, GOOD_KEY] }),
      malformed(),
    ],
    ['a space in a name', withLines('A B: 1'), malformed()],
    ['a line without a colon', withLines('A'), malformed()],
    ['an empty name', withLines(': 1'), malformed()],
    ['NUL in a header', withLines('A: a\0b'), malformed()],
    ['a control character in a header', withLines('A: \x01'), malformed()],
    ['NUL in a name', withLines('A\0: 1'), malformed()],
    ['a header of 20 KB', withLines(`A: ${'a'.repeat(20_000)}`), malformed(431)],
    ['a name of 20 KB', withLines(`${'A'.repeat(20_000)}: 1`), malformed(431)],
    ['100,000 headers', withLines(...Array<string>(100_000).fill('a: b')), malformed(431)],
    ['an expectation', withLines('Expect: 200-ok'), malformed(417)],
    [
      'an expectation, unknown path',
      wire('/nope', { headers: [HOST, 'Expect: x'] }),
      malformed(417),
    ],
  ];
}

function pipelines({ path }: Lookup): Case[] {
  const good = wire(path);
  const faultyPage = wire(`${path}?page=0`);
  const hidden = wire(path, { headers: [HOST] });
  const inTheBody = wire(path, {
    headers: [HOST, GOOD_KEY, `Content-Length: ${hidden.length}`],
    body: hidden,
  });
  return [
    ['three at once', good + faultyPage + good, fine, faulty('query page'), fine],
    [
      'one without a key after a good one',
      good + wire(path, { headers: [HOST] }),
      fine,
      unauthorized,
    ],
    ['garbage after a good one', `${good}GARBAGE\r\n\r\n`, fine, malformed()],
    ['garbage after two', `${good}${faultyPage}\0`, fine, faulty('query page'), malformed()],
    ['CONNECT after a good one', good + wire('a:1', { method: 'CONNECT' }), fine, notAllowed],
    [
      'an expectation after a good one',
      good + wire(path, { headers: [HOST, 'Expect: x'] }),
      fine,
      malformed(417),
    ],
    ['a request in the body of another', inTheBody + good, fine, fine],
  ];
}
