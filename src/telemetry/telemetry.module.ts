import { Module } from '@nestjs/common';
import { ApiKeysModule } from '../api-keys/api-keys.module.js';
import { HealthModule } from '../health/health.module.js';
import { MarketsModule } from '../markets/markets.module.js';
import { LimitMetrics } from './limit-metrics.js';
import { MemoryMetrics } from './memory-metrics.js';
import { MetricsController } from './metrics.controller.js';
import { MongodbMetrics } from './mongodb-metrics.js';
import { MongodbUp } from './mongodb-up.js';
import { WatchMetrics } from './watch-metrics.js';

/** The metrics, and who counts them; those of requests are counted by RequestLog. */
@Module({
  imports: [ApiKeysModule, HealthModule, MarketsModule],
  controllers: [MetricsController],
  providers: [LimitMetrics, MemoryMetrics, MongodbMetrics, MongodbUp, WatchMetrics],
})
export class TelemetryModule {}
