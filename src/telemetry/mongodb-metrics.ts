import { Injectable, Logger } from '@nestjs/common';
import type { MongoClient } from 'mongodb';
import { Database } from '../database/database.js';
import { Metrics } from './metrics.js';

/**
 * Counts what the driver tells about its connections (CMAP events, which it makes anyhow), over all servers
 * and clients, and logs when MongoDB goes away and comes back.
 */
@Injectable()
export class MongodbMetrics {
  private readonly logger = new Logger(MongodbMetrics.name);
  private readonly open = new Set<string>();
  private readonly inUseSince = new Map<string, number>();
  private waiting = 0;
  private clients = 0;
  private wasReadable = false;

  constructor(
    private readonly database: Database,
    private readonly metrics: Metrics,
  ) {
    metrics.mongodbUp.read = () => Number(database.readable);
    metrics.poolConnections.read = () => this.open.size;
    metrics.poolInUse.read = () => this.inUseSince.size;
    metrics.poolWaiting.read = () => this.waiting;
    database.onClient((client) => this.watch(client));
  }

  private watch(client: MongoClient): void {
    const clientId = (this.clients += 1);
    const nameOf = (event: { address: string; connectionId: number | '<monitor>' }) =>
      `${clientId} ${event.address} ${event.connectionId}`;
    client.on('topologyDescriptionChanged', () => this.noteReadable());
    client.on('connectionCreated', (event) => {
      this.open.add(nameOf(event));
      this.metrics.poolCreated.inc();
    });
    client.on('connectionClosed', (event) => {
      this.open.delete(nameOf(event));
      this.inUseSince.delete(nameOf(event));
      this.metrics.poolClosed.inc();
    });
    client.on('connectionCheckOutStarted', () => {
      this.waiting += 1;
    });
    client.on('connectionCheckedOut', (event) => {
      this.waiting -= 1;
      this.inUseSince.set(nameOf(event), performance.now());
    });
    client.on('connectionCheckOutFailed', () => {
      this.waiting -= 1;
      this.metrics.poolCheckoutFailures.inc();
    });
    client.on('connectionCheckedIn', (event) => {
      const since = this.inUseSince.get(nameOf(event));
      if (since === undefined) return;
      this.inUseSince.delete(nameOf(event));
      this.metrics.poolInUseTime.observe((performance.now() - since) / 1000);
    });
  }

  private noteReadable(): void {
    const { readable } = this.database;
    if (readable === this.wasReadable) return;
    this.wasReadable = readable;
    if (readable) this.logger.log('MongoDB can be read');
    else this.logger.warn('MongoDB cannot be read');
  }
}
