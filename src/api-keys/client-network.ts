import { isIP } from 'node:net';

const GROUPS = 8;
const GROUPS_OF_A_NETWORK = 4;

/**
 * What clients are counted by: an IPv4 address; of IPv6 the /64, all of which one client may use.
 * What is no address counts as one client, so that made-up ones take no memory.
 */
export function clientNetwork(address = ''): string {
  // IPv4 addresses may come in the form of IPv6.
  const text = withoutPort(address)
    .toLowerCase()
    .replace(/%.*$/, '')
    .replace(/^::ffff:(?=[\d.]+$)/, '');
  if (isIP(text) === 4) return text;
  if (isIP(text) === 0) return '';
  // A URL has the shortest form of an address, and no dotted part in it.
  const sides = new URL(`http://[${text}]`).hostname.slice(1, -1).split('::');
  const [before = [], after = []] = sides.map((side) => side.split(':').filter(Boolean));
  const zeros = Array<string>(GROUPS - before.length - after.length).fill('0');
  return [...before, ...zeros, ...after].slice(0, GROUPS_OF_A_NETWORK).join(':');
}

/** Some proxies tell an address with its port: `192.0.2.1:443`, `[2001:db8::1]:443`. */
function withoutPort(address: string): string {
  return /^([\d.]+|\[.+\]):\d+$/.exec(address)?.[1]?.replace(/^\[|\]$/g, '') ?? address;
}
