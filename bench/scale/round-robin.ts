import type { Socket } from 'node:net';
import { Relay } from '../../test/relay.js';

/** A load balancer as simple as can be: gives connections to the servers in turn, on loopback. */
export class RoundRobin extends Relay {
  private taken = 0;

  constructor(private readonly ports: readonly number[]) {
    super(ports[0] ?? 0);
  }

  protected carry(caller: Socket, service: Socket): void {
    this.taken += 1;
    this.targetPort = this.ports[this.taken % this.ports.length] ?? 0;
    caller.pipe(service).pipe(caller);
  }
}
