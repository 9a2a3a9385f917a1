import { Injectable, Logger } from '@nestjs/common';
import type { MongoClient } from 'mongodb';
import { Database } from '../database/database.js';
import { ReadinessService } from '../health/readiness.service.js';
import { Metrics } from './metrics.js';

/**
 * So long after MongoDB was lost, or first let us in, the log tells why it can't be read if the reason has changed: the
 * driver may learn it late. Milliseconds.
 */
const WARNS_AFTER_MS = 2_000;

/** Tells whether MongoDB can be read: in the metrics, and in the log whenever that changes. */
@Injectable()
export class MongodbUp {
  private readonly logger = new Logger(MongodbUp.name);
  /** Whether MongoDB could be read when that was noted last. */
  private wasUp = false;
  /** Why MongoDB can't be read, as the log said last. */
  private lastReason: string | undefined;

  constructor(
    private readonly database: Database,
    readiness: ReadinessService,
    metrics: Metrics,
  ) {
    const help = '1 while MongoDB answers a read, as the probe /health/ready asks for one, else 0.';
    metrics.gauges({ mongodb_up: [help, async () => Number(await readiness.canRead())] });
    database.onClient((client) => this.follow(client));
  }

  private follow(client: MongoClient): void {
    client.on('topologyDescriptionChanged', () => this.noteUp());
    client.on('connectionReady', () => this.noteUp());
    client.once('connectionReady', () => this.warnLater());
  }

  /** Servers show what they are to everybody: whether they let us in shows only when a connection is opened. */
  private get isUp(): boolean {
    const { readable, hasAccess } = this.database.topology;
    return readable && hasAccess;
  }

  private noteUp(): void {
    const { isUp } = this;
    if (isUp === this.wasUp) return;
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
