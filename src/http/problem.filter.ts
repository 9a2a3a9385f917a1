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

/** Turns every error into problem details. An unforeseen one is logged, and the caller gets a neutral 500. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  private readonly logger = new Logger('Problem');

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<ApiRequest>();
    sendProblem(request, http.getResponse<Response>(), this.problemOf(error, request));
  }

  private problemOf(error: unknown, request: ApiRequest): Problem {
    if (error instanceof Problem) return error;
    if (error instanceof NotFoundException) return notFound();
    this.logger.error({ err: error, requestId: request.requestId }, 'Unforeseen failure');
    return new Problem('internal_error', 'The service failed. Please report the request id.');
  }
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
