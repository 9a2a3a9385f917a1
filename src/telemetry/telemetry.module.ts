import { Global, Module, type DynamicModule } from '@nestjs/common';
import { MetricsController } from './metrics.controller.js';
import { Metrics } from './metrics.js';
import { MongodbMetrics } from './mongodb-metrics.js';

/** Metrics, for every module to count with. */
@Global()
@Module({})
export class TelemetryModule {
  static with(metrics: Metrics): DynamicModule {
    return {
      module: TelemetryModule,
      controllers: [MetricsController],
      providers: [{ provide: Metrics, useValue: metrics }, MongodbMetrics],
      exports: [Metrics],
    };
  }
}
