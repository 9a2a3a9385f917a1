import { Injectable, Logger } from '@nestjs/common';
import type { MongoClient } from 'mongodb';
import { Database } from '../database/database.js';
import { Metrics } from './metrics.js';

/** Seconds. */
const COMMAND_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2];

/**
 * So long after MongoDB was lost, or has let us in, a warning says why it can't be read, unless one has said just that:
 * the driver may know only by then. Milliseconds.
 */
const WARNS_AFTER_MS = 2_000;

/**
 * Counts what the driver tells about its connections (CMAP events, which it makes anyhow), over all servers
 * and clients, and logs when MongoDB goes away and comes back.
 */
@Injectable()
export class MongodbMetrics {
  private readonly logger = new Logger(MongodbMetrics.name);
  private readonly open = new Set<string>();
  /** By connection, the function that ends its timer. */
  private readonly inUse = new Map<string, () => void>();
  private clients = 0;
  /** What the log said last; undefined until MongoDB could be read, or was said to be away. */
  private wasUp: boolean | undefined;
  /** Why MongoDB can't be read, as the log said last. */
  private lastReason: string | undefined;
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
    private readonly database: Database,
    private readonly metrics: Metrics,
  ) {
    const connections = 'Open connections to MongoDB, those in use included.';
    const inUse = 'Connections to MongoDB that are in use.';
    const waiting = 'Reads that wait for one of the connections.';
    metrics.gauges({
      mongodb_up: [
        '1 while some MongoDB server can be read, and lets us in, else 0.',
        () => Number(this.isUp),
      ],
      mongodb_pool_connections: [connections, () => this.open.size],
      mongodb_pool_connections_in_use: [inUse, () => this.inUse.size],
      mongodb_pool_wait_queue_length: [waiting, () => database.slots.queueLength],
    });
    database.slots.onRefusal = () => this.checkoutFailures.inc();
    database.onClient((client) => this.watch(client));
  }

  private watch(client: MongoClient): void {
    const clientId = (this.clients += 1);
    const nameOf = (event: { address: string; connectionId: number | '<monitor>' }) =>
      `${clientId} ${event.address} ${event.connectionId}`;
    client.on('topologyDescriptionChanged', () => this.noteUp());
    // Only now: of a connection that is given up while it is being opened the driver may tell no end.
    client.on('connectionReady', (event) => {
      this.open.add(nameOf(event));
      this.created.inc();
      this.noteUp();
    });
    client.once('connectionReady', () => this.warnLater());
    client.on('connectionClosed', (event) => {
      if (this.open.delete(nameOf(event))) this.closed.inc();
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

  /** Servers show what they are to everybody: whether they let us in shows only when a connection is opened. */
  private get isUp(): boolean {
    const { readable, mayRead } = this.database.topology;
    return readable && mayRead;
  }

  private noteUp(): void {
    const { isUp } = this;
    if (isUp === (this.wasUp ?? false)) return;
    this.wasUp = isUp;
    this.lastReason = undefined;
    if (isUp) {
      this.logger.log('MongoDB can be read');
    } else {
      this.warn();
      this.warnLater();
    }
  }

  private warnLater(): void {
    setTimeout(() => {
      if (!this.isUp) this.warn();
    }, WARNS_AFTER_MS).unref();
  }

  private warn(): void {
    const { summary } = this.database.topology;
    if (summary !== this.lastReason) this.logger.warn(`MongoDB cannot be read: ${summary}`);
    this.lastReason = summary;
  }
}
