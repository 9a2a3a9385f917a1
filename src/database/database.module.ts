import { Global, Module } from '@nestjs/common';
import { getConnectionToken } from '@nestjs/mongoose';
import { Database } from './database.js';

/** The connection, for every module. */
@Global()
@Module({
  providers: [
    Database,
    {
      provide: getConnectionToken(),
      inject: [Database],
      useFactory: ({ connection }: Database) => connection,
    },
  ],
  exports: [Database, getConnectionToken()],
})
export class DatabaseModule {}
