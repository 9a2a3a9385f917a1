import { DEMO_KEY } from '../api-keys/demo-key.js';

/** What a developer sees after the first start: where to look, and a line that answers with odds. */
export function welcome(port: number): string {
  const base = `http://localhost:${port}`;
  return `
  Live board  ${base}/docs/live
  Swagger UI  ${base}/docs
  Demo key    ${DEMO_KEY}
  Try it      curl -H 'X-API-Key: ${DEMO_KEY}' '${base}/v1/markets/market/fixture/demo-fixture-1?marketMoment=live&take=2'

`;
}
