import { isIP } from 'node:net';

const GROUPS = 8;
const GROUPS_OF_A_NETWORK = 4;

/**
 * What clients are counted by: an IPv4 address; of IPv6 the /64, all of which one client may use.
 * What is no address counts as one client, so that made-up ones take no memory.
 */
export function clientNetwork(address = ''): string {
  const text = address.replace(/%.*$/, '').toLowerCase();
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(text)?.[1];
  if (mapped !== undefined || isIP(text) === 4) return mapped ?? text;
  if (isIP(text) === 0) return '';
  const [head = '', tail = ''] = text.split('::');
  const before = groupsOf(head);
  // A dotted IPv4 tail takes two groups.
  const after = groupsOf(tail).length + (tail.includes('.') ? 1 : 0);
  const zeros = Array.from({ length: GROUPS - before.length - after }, () => '0');
  const network = [...before, ...(text.includes('::') ? zeros : []), ...groupsOf(tail)];
  return network
    .slice(0, GROUPS_OF_A_NETWORK)
    .map((group) => parseInt(group, 16).toString(16))
    .join(':');
}

function groupsOf(text: string): string[] {
  return text === '' ? [] : text.split(':');
}
