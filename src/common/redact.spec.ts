import { describe, expect, it } from '@jest/globals';
import { redact } from './redact.js';

const KEY = 'mos_0123456789ab_0123456789abcdefghijklmnopqrstuvABCDEF';

describe('what is taken out of a text', () => {
  it.each([
    ['a key', `GET /v1?api_key=${KEY}&page=1`, 'GET /v1?api_key=mos_[redacted]&page=1'],
    ['a key cut short', `key ${KEY.slice(0, 25)} …`, 'key mos_[redacted] …'],
    ['an encoded key', KEY.replaceAll('_', '%5F'), 'mos_[redacted]'],
    ['two keys', `${KEY},${KEY}`, 'mos_[redacted],mos_[redacted]'],
    ['a key after an escape', `{"a":"x\\n${KEY}"}`, '{"a":"x\\nmos_[redacted]"}'],
    ['a password', 'mongodb://app:s3cret@db:27017/odds', 'mongodb://[redacted]@db:27017/odds'],
    ['a password of SRV', 'mongodb+srv://a:b@c.example', 'mongodb+srv://[redacted]@c.example'],
    ['a password with an @', 'MongoDB://app:p@ss@db', 'MongoDB://[redacted]@db'],
    [
      "Redis' password",
      '{"url":"rediss://:pw@cache:6379"}',
      '{"url":"rediss://[redacted]@cache:6379"}',
    ],
  ])('%s', (_what, text, expected) => {
    expect(redact(text)).toBe(expected);
  });

  it.each([
    'GET /v1/markets/market/fixture/:fixtureId',
    'mongodb://localhost:27017/cosmos_db',
    '{"keyId":"0123456789ab","mail":"ops@example.com","url":"https://example.com/a@b"}',
    'cosmos_database',
  ])('not: %s', (text) => {
    expect(redact(text)).toBe(text);
  });
});
