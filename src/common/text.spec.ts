import { expect, it } from '@jest/globals';
import { hostAndPort, messageOf, printable, printableJson } from './text.js';

it("of a command that MongoDB's message repeats the name alone is told, over however many lines it goes", () => {
  const error = new Error(
    'not allowed to execute command {\n  insert: "api_keys",\n  hash: "secret"\n}',
  );
  expect(messageOf(error)).toBe('not allowed to execute command insert');
});

it('the message of a failure is the same each time, however long it took', () => {
  const error = new Error("Socket 'secureConnect' timed out after 1002ms (connectTimeoutMS: 1000)");
  expect(messageOf(error)).toBe("Socket 'secureConnect' timed out (connectTimeoutMS: 1000)");
  expect(messageOf(new Error('Server selection timed out after 1000 ms'))).toBe(
    'Server selection timed out',
  );
});

it('text for a terminal has one line, and an end', () => {
  expect(printable('a\nb\u2028c\u2029d')).toBe('abcd');
  expect(printable('x'.repeat(1_000_000))).toBe(`${'x'.repeat(200)}…`);
});

it('JSON for a terminal has no control character, not even DEL', () => {
  const text = 'a\u007f\u009b\u202e\u00e9';
  expect(printableJson(text)).toBe('"a\\u007f\\u009b\\u202e\\u00e9"');
  expect(JSON.parse(printableJson(text))).toBe(text);
});

it('an IPv6 address stands in brackets before its port', () => {
  expect(['::1', '127.0.0.1', 'localhost'].map((host) => hostAndPort(host, 80))).toEqual([
    '[::1]:80',
    '127.0.0.1:80',
    'localhost:80',
  ]);
});
