import { Global, Module, type DynamicModule } from '@nestjs/common';
import { getConnectionToken } from '@nestjs/mongoose';
import { Config } from '../config.js';
import { Database } from './database.js';

/** Settings and the connection, for every module. */
@Global()
@Module({})
export class DatabaseModule {
  static with(config: Config): DynamicModule {
    return {
      module: DatabaseModule,
      providers: [
        { provide: Config, useValue: config },
        Database,
        {
          provide: getConnectionToken(),
          inject: [Database],
          useFactory: (database: Database) => database.connection,
        },
      ],
      exports: [Config, Database, getConnectionToken()],
    };
  }
}
