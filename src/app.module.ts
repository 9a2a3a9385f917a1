import { Module, type DynamicModule } from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import { ApiKeyGuard } from './api-keys/api-key.guard.js';
import { ApiKeysModule } from './api-keys/api-keys.module.js';
import { ChangeFeed } from './change-feed/change-feed.js';
import { ProblemFilter } from './http/problem.filter.js';
import { Config } from './config.js';
import { Database } from './database/database.js';
import { HealthModule } from './health/health.module.js';
import { MarketsModule } from './markets/markets.module.js';
import { Metrics } from './telemetry/metrics.js';
import { TelemetryModule } from './telemetry/telemetry.module.js';

/** The service. The guard and the filter of all routes are declared here, so that tests have them, too. */
@Module({})
export class AppModule {
  static with(config: Config, metrics: Metrics): DynamicModule {
    return {
      module: AppModule,
      // What it exports is for every module.
      global: true,
      imports: [TelemetryModule, ApiKeysModule, MarketsModule, HealthModule],
      providers: [
        { provide: Config, useValue: config },
        { provide: Metrics, useValue: metrics },
        Database,
        ChangeFeed,
        { provide: APP_GUARD, useClass: ApiKeyGuard },
        { provide: APP_FILTER, useClass: ProblemFilter },
      ],
      exports: [Config, Metrics, Database, ChangeFeed],
    };
  }
}
