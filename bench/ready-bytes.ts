/** The least that a server on `node:http` can do: it hands out the same bytes, whatever it is asked, with our bounds. */
import { createServer } from 'node:http';
import { SERVER_OPTIONS } from '../src/http/http-limits.js';

const body = Buffer.alloc(8_192, 'x');
const headers = { 'Content-Type': 'application/json', 'Content-Length': body.length };

createServer(SERVER_OPTIONS, (_request, response) =>
  response.writeHead(200, headers).end(body),
).listen(Number(process.argv[2]), '127.0.0.1');
process.on('disconnect', () => process.exit(0));
