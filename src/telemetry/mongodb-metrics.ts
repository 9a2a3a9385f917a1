import { Injectable } from '@nestjs/common';
import type { MongoClient } from 'mongodb';
import { Database } from '../database/database.js';
import { Metrics } from './metrics.js';

/** Seconds. */
const COMMAND_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2];

/** Counts what the driver tells about its connections (CMAP events, which it makes anyhow), over all servers and clients. */
@Injectable()
export class MongodbMetrics {
  private readonly open = new Set<string>();
  /** By connection, the function that ends its timer. */
  private readonly inUse = new Map<string, () => void>();
  private clients = 0;
  private readonly created = this.metrics.counter(
    'mongodb_pool_connections_created_total',
    'Connections to MongoDB that were opened.',
  );
  private readonly closed = this.metrics.counter(
    'mongodb_pool_connections_closed_total',
    'Connections to MongoDB that were closed, for whatever reason.',
  );
  private readonly checkoutFailures = this.metrics.counter(
    'mongodb_pool_checkout_failures_total',
    'Operations that got no connection.',
  );
  private readonly inUseTime = this.metrics.histogram(
    'mongodb_pool_in_use_seconds',
    'Time that an operation kept its connection: its command, from sending to the answer.',
    COMMAND_BUCKETS,
  );

  constructor(
    database: Database,
    private readonly metrics: Metrics,
  ) {
    const connections = 'Open connections to MongoDB, those in use included.';
    const inUse = 'Connections to MongoDB that are in use.';
    const waiting = 'Reads that wait for one of the connections.';
    metrics.gauges({
      mongodb_pool_connections: [connections, () => this.open.size],
      mongodb_pool_connections_in_use: [inUse, () => this.inUse.size],
      mongodb_pool_wait_queue_length: [waiting, () => database.reads.slots.queueLength],
    });
    database.reads.slots.onRefusal = () => this.checkoutFailures.inc();
    database.onClient((client) => this.follow(client));
  }

  private follow(client: MongoClient): void {
    const clientId = (this.clients += 1);
    const poolOf = ({ address }: { address: string }) => `${clientId} ${address} `;
    const nameOf = (event: { address: string; connectionId: number | '<monitor>' }) =>
      `${poolOf(event)}${event.connectionId}`;
    // Counted when it is ready: of one that is given up while it is being opened, the driver may never tell the end.
    client.on('connectionReady', (event) => {
      this.open.add(nameOf(event));
      this.created.inc();
    });
    client.on('connectionClosed', (event) => this.noteClosed(nameOf(event)));
    // Of a client or a member that is given up, the driver does not tell the end of those that are in use.
    client.on('connectionPoolClosed', (event) => {
      for (const name of this.open) if (name.startsWith(poolOf(event))) this.noteClosed(name);
    });
    client.on('connectionCheckedOut', (event) => {
      this.inUse.set(nameOf(event), this.inUseTime.startTimer());
    });
    client.on('connectionCheckOutFailed', () => this.checkoutFailures.inc());
    client.on('connectionCheckedIn', (event) => {
      this.inUse.get(nameOf(event))?.();
      this.inUse.delete(nameOf(event));
    });
  }

  private noteClosed(name: string): void {
    this.inUse.delete(name);
    if (this.open.delete(name)) this.closed.inc();
  }
}
