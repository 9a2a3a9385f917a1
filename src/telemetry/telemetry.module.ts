import { Module, type DynamicModule } from '@nestjs/common';
import { MarketsModule } from '../markets/markets.module.js';
import { MemoryMetrics } from './memory-metrics.js';
import { MetricsController } from './metrics.controller.js';
import { Metrics } from './metrics.js';
import { MongodbMetrics } from './mongodb-metrics.js';
import { WatchMetrics } from './watch-metrics.js';

/** The metrics, and who counts them; those of requests are counted by RequestLog. */
@Module({})
export class TelemetryModule {
  static with(metrics: Metrics): DynamicModule {
    return {
      module: TelemetryModule,
      imports: [MarketsModule],
      controllers: [MetricsController],
      providers: [
        { provide: Metrics, useValue: metrics },
        MemoryMetrics,
        MongodbMetrics,
        WatchMetrics,
      ],
    };
  }
}
