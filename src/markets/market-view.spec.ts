import { expect, it } from '@jest/globals';
import { marketJson } from './market-view.js';

const shown = (createdAt: unknown) =>
  (JSON.parse(marketJson({ _id: 'a', createdAt })) as { createdAt?: string }).createdAt;

it.each(['0000-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z'])(
  'shows %s as it is, date or text',
  (text) => {
    expect([shown(new Date(text)), shown(text)]).toEqual([text, text]);
  },
);

it.each(['-000001-12-31T23:59:59.999Z', '+010000-01-01T00:00:00.000Z'])(
  'leaves %s out: not every client can read that form',
  (text) => {
    expect([shown(new Date(text)), shown(text)]).toEqual([undefined, undefined]);
  },
);
