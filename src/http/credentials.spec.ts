import { describe, expect, it } from '@jest/globals';
import { generateKey } from '../api-keys/key-form.js';
import type { ApiRequest } from './api-request.js';
import { mayHoldKey } from './credentials.js';

function requestWith(headers: Record<string, string> = {}, ...keys: string[]): ApiRequest {
  const rawHeaders = Object.entries(headers).flat();
  return { rawHeaders, rawQuery: keys.map((key) => ['api_key', key]) } as unknown as ApiRequest;
}

describe('mayHoldKey', () => {
  const key = 'mos_demo00000000_ThisIsThePublicDemoKeyOfMarkets01JrrOk';

  const [whole, short] = [generateKey().slice(17, 49), key.slice(17, 41)];
  it.each([key, key.toUpperCase(), `x-${key}`, 'mos_', generateKey(), whole, short])(
    'suspects %s of any request',
    (text) => {
      expect(mayHoldKey(text, requestWith())).toBe(true);
    },
  );

  it.each([
    'marketType[$ne]',
    'thisParameterDoesNotExist',
    'unknownParameterName123',
    '7c1c2a5e-6f0b-4b39-9c1c-7f7a8f3a2d10',
    '4bf92f3577b34da6a3ce929d0e0e4736',
    '01JD5Z7Q4X8K2M3N6P9R0S1T2V',
    'V1StGXR8Z5jdHi6BmyTab',
    '',
  ])('lets %s be shown', (text) => {
    expect(mayHoldKey(text, requestWith({ 'x-api-key': key }, key))).toBe(false);
  });

  it('suspects six characters of the secret of a key that came with the request', () => {
    expect(mayHoldKey('xPublicx', requestWith({ 'x-api-key': key }))).toBe(true);
    expect(mayHoldKey('xPublicx', requestWith({}, 'x', key))).toBe(true);
    expect(mayHoldKey('xPublicx', requestWith({ 'x-api-key': key }, 'x'))).toBe(true);
    expect(mayHoldKey('Public', requestWith({ 'x-api-key': key }))).toBe(true);
    expect(mayHoldKey('ThisIs', requestWith({ 'x-api-key': key }))).toBe(true);
    expect(mayHoldKey('xPublix', requestWith({ 'x-api-key': key }))).toBe(false);
    expect(mayHoldKey('xPublicx', requestWith())).toBe(false);
  });

  it('suspects any text beside keys that are too long to be looked through', () => {
    const long = 'aaaaab'.repeat(2_600);
    expect(mayHoldKey('c', requestWith({ 'x-api-key': long }))).toBe(true);
    expect(mayHoldKey('c', requestWith({}, ...Array<string>(2_000).fill('mos_')))).toBe(true);
    expect(mayHoldKey('c', requestWith({}, key, `x${key}`))).toBe(false);
  });
});
