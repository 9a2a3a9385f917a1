import { Global, Module } from '@nestjs/common';
import { MetricsController } from './metrics.controller.js';
import { Metrics } from './metrics.js';
import { MongodbMetrics } from './mongodb-metrics.js';

/** Metrics, for every module to count with. */
@Global()
@Module({
  controllers: [MetricsController],
  providers: [Metrics, MongodbMetrics],
  exports: [Metrics],
})
export class TelemetryModule {}
