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

const UP = 'MongoDB can be read';

/** Tells whether MongoDB can be read: in the metrics, and in the log whenever that changes. */
@Injectable()
export class MongodbUp {
  private readonly logger = new Logger(MongodbUp.name);
  /** What the log said last. */
  private told = '';

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
    if (this.isUp) {
      if (this.told !== UP) this.logger.log(UP);
      this.told = UP;
    } else if (this.told === UP) {
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
    const text = `MongoDB cannot be read: ${this.database.topology.summary}`;
    if (text !== this.told) this.logger.warn(text);
    this.told = text;
  }
}
