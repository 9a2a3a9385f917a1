import { expect, it } from '@jest/globals';
import { messageOf } from './text.js';

it('of what MongoDB says the command is left out, over however many lines it goes', () => {
  const error = new Error(
    'not allowed to execute command {\n  insert: "api_keys",\n  hash: "secret"\n}',
  );
  expect(messageOf(error)).toBe('not allowed');
});
