import { DEMO_KEY } from '../api-keys/demo-key.js';
import { hostAndPort } from '../common/text.js';

/** A service that listens on one of these addresses can be reached as `localhost`. */
const HERE = new Set(['0.0.0.0', '::', '127.0.0.1', '::1']);

/** What a developer sees after a start: where to look and, with the demo's markets, a line that answers with odds. */
export function welcome(host: string, port: number, hasDemo: boolean): string {
  const base = `http://${hostAndPort(HERE.has(host) ? 'localhost' : host, port)}`;
  const lookup = `${base}/v1/markets/market/fixture/demo-fixture-1?marketMoment=live&take=2`;
  const tryIt = `  Try it      curl -H 'X-API-Key: ${DEMO_KEY}' '${lookup}'\n`;
  return `
  Live board  ${base}/docs/live
  Swagger UI  ${base}/docs
  Demo key    ${DEMO_KEY}
${hasDemo ? tryIt : ''}
`;
}
