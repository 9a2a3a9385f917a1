import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';

const ESTABLISHED = '01';

interface Seen {
  bytes: number;
  grewAt: number;
}

/** What the kernel holds for clients that don't read, and when they are cut after that last grew. Linux. */
export class UnsentBytes {
  private readonly seen = new Map<string, Seen>();
  readonly waitedMs: number[] = [];
  isOver = false;

  constructor(private readonly sockets: readonly Socket[]) {}

  get cut(): number {
    return this.waitedMs.length;
  }

  /** @param isLast whether this is the last check, even if some are not cut */
  async check(isLast: boolean): Promise<void> {
    const now = performance.now();
    const open = await openConnections();
    for (const { localPort = 0 } of this.sockets) {
      const end = hexOf(localPort);
      const bytes = open.get(end);
      const seen = this.seen.get(end);
      if (bytes === undefined) {
        if (seen) this.waitedMs.push(now - seen.grewAt);
        this.seen.delete(end);
      } else if (seen?.bytes !== bytes) this.seen.set(end, { bytes, grewAt: now });
    }
    this.isOver = isLast || this.cut === this.sockets.length;
  }
}

/** Bytes to be sent over each open connection, by the port of who is to read them. */
async function openConnections(): Promise<Map<string, number>> {
  const table = await readFile('/proc/net/tcp', 'latin1');
  const rows = table.split('\n').map((line) => line.trim().split(/\s+/));
  return new Map(
    rows
      .filter(([, , , state]) => state === ESTABLISHED)
      .map(([, , remote = '', , queues = '']) => [
        remote.split(':')[1] ?? '',
        parseInt(queues.split(':')[0] ?? '', 16),
      ]),
  );
}

function hexOf(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, '0');
}
