import ipaddr from 'ipaddr.js';
import { isIP } from 'node:net';

const GROUPS_OF_A_NETWORK = 4;

/**
 * What clients are counted by: an IPv4 address; of IPv6 the /64, all of which one client may use.
 * What is no address counts as one client, so that made-up ones take no memory.
 */
export function clientNetwork(address = ''): string {
  const text = withoutPort(address).replace(/%.*$/, '');
  if (!isIP(text)) return '';
  // IPv4 addresses may come in the form of IPv6.
  const groups = ipaddr.process(text).toNormalizedString().split(':');
  return groups.slice(0, GROUPS_OF_A_NETWORK).join(':');
}

/** Some proxies tell an address with its port: `192.0.2.1:443`, `[2001:db8::1]:443`. */
function withoutPort(address: string): string {
  return /^([\d.]+|\[.+\]):\d+$/.exec(address)?.[1]?.replace(/^\[|\]$/g, '') ?? address;
}
