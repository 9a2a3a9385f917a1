import { expect, it, jest } from '@jest/globals';
import type { Response } from 'express';
import type { ApiRequest } from './api-request.js';
import { sendProblem } from './problem.filter.js';
import { notFound } from './problem.js';

it('cuts an answer that fails under way: it must not look complete', () => {
  const response = { headersSent: true, destroy: jest.fn() };
  sendProblem({} as ApiRequest, response as unknown as Response, notFound());
  expect(response.destroy).toHaveBeenCalled();
});
