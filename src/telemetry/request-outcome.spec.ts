import { expect, it, jest } from '@jest/globals';
import type { Response } from 'express';
import type { ApiRequest } from '../http/api-request.js';
import { outcomeOf } from './request-outcome.js';

it('tells the time of a request in milliseconds', () => {
  jest.spyOn(performance, 'now').mockReturnValueOnce(1_012.3456);
  const request = { method: 'GET', socket: {}, startedAt: 1_000 } as ApiRequest;
  expect(outcomeOf(request, {} as Response)).toMatchObject({ durationMs: 12.35 });
});
