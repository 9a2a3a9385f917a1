import { expect, it } from '@jest/globals';
import type { Response } from 'express';
import { EventEmitter } from 'node:events';
import type { KeyedRequest } from '../http/api-request.js';
import { UnsentAnswers } from './unsent-answers.js';

it('refuses no short answer, however much is on its way', () => {
  const unsent = new UnsentAnswers();
  const request = { apiKey: { id: 'k' } } as KeyedRequest;
  const add = (bytes: number) => () =>
    unsent.add(request, new EventEmitter() as unknown as Response, [Buffer.alloc(bytes)]);
  add(64 * 1024 * 1024)();
  expect(add(64 * 1024)).toThrow('too much to do');
  expect(add(64 * 1024 - 1)).not.toThrow();
});
