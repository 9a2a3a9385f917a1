import type { Express } from 'express';
import { IncomingMessage, ServerResponse, type ServerOptions } from 'node:http';
import type { ApiRequest } from './api-request.js';
import { DATA_HEADER_LIST, headerList, type HeaderList } from './response-headers.js';

/**
 * Requests and responses with the prototypes of Express from the start. Express would change the prototype of each as
 * it arrives, and V8 then gives up its optimisations: docs/performance.md tells what that costs.
 *
 * @param beforeHead told of each answer before its head is written
 */
export function messageClasses(
  app: Express,
  beforeHead: (response: ServerResponse) => void,
): Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'> {
  class ExpressRequest extends IncomingMessage {}
  class ExpressResponse extends ServerResponse {
    /** Adds the headers that all answers have, and those that were collected for this request. */
    override writeHead(status: number, own: unknown = []): this {
      beforeHead(this);
      const request = this.req as ApiRequest;
      const isPage = status < 400 && this.hasHeader('Content-Security-Policy');
      const ofAll = isPage ? [] : DATA_HEADER_LIST;
      super.writeHead(status, [
        ...ofAll,
        ...headerList(request.answerHeaders),
        ...(own as HeaderList),
      ]);
      forgetHead(request);
      return this;
    }
  }
  Object.setPrototypeOf(ExpressRequest.prototype, app.request);
  Object.setPrototypeOf(ExpressResponse.prototype, app.response);
  Object.assign(app, { request: ExpressRequest.prototype, response: ExpressResponse.prototype });
  return { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse } as object;
}

/**
 * Short headers and names in a query take up to 1 MB of memory, and would stay until the answer is read. Log and metrics
 * need none of them.
 */
function forgetHead(request: ApiRequest): void {
  request.rawHeaders = [];
  request.headers = {};
  request.rawQuery = [];
}
