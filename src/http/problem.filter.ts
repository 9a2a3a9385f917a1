import {
  Catch,
  Logger,
  NotFoundException,
  type ArgumentsHost,
  type ExceptionFilter,
} from '@nestjs/common';
import type { Response } from 'express';
import type { ApiRequest } from './api-request.js';
import { notFound, Problem } from './problem.js';

const logger = new Logger('Problem');

/** Turns every error into problem details. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    sendFailure(http.getRequest<ApiRequest>(), http.getResponse<Response>(), error);
  }
}

/** Sends any error as problem details. An unforeseen one is logged, and the caller gets a neutral 500. */
export function sendFailure(request: ApiRequest, response: Response, error: unknown): void {
  sendProblem(request, response, problemOf(error, request));
}

function problemOf(error: unknown, request: ApiRequest): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof NotFoundException) return notFound();
  logger.error({ err: error, requestId: request.requestId }, 'Unforeseen failure');
  return new Problem('internal_error', 'The service failed. Please report the request id.');
}

/** Sends a problem as the whole answer, unless an answer is already under way: then it is cut off. */
export function sendProblem(request: ApiRequest, response: Response, problem: Problem): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  request.problem = problem.code;
  const { body, headers } = problem.answer(request.requestId);
  // The limit headers of a refusal replace those that were set when the request was let in.
  Object.assign(request.answerHeaders, headers);
  response.writeHead(problem.getStatus());
  response.end(body);
}
