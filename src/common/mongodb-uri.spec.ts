import { expect, it } from '@jest/globals';
import { mongodbUri } from './mongodb-uri.js';

it.each([...'/\\. "$*<>:|?\0'])('takes no database with %j in its name', (character) => {
  const uri = `mongodb://127.0.0.1/${encodeURIComponent(`odds${character}markets`)}`;
  expect(() => mongodbUri(uri)).toThrow('must name a database');
});
