import { MongoError, MongoNetworkTimeoutError } from 'mongodb';
import { Problem } from '../http/problem.js';
import { isBrokenSocket, isTimeExpired } from './mongo-errors.js';

/** What a caller is told of an error of MongoDB or its connection; other errors stay as they are. */
export function problemOf(error: unknown): unknown {
  if (isBrokenSocket(error)) return databaseUnavailable();
  if (!(error instanceof MongoError)) return error;
  if (error instanceof MongoNetworkTimeoutError || isTimeExpired(error)) return databaseTimeout();
  return databaseUnavailable();
}

export function databaseUnavailable(): Problem {
  return new Problem('database_unavailable', 'The database cannot be reached. Please try again.');
}

export function databaseTimeout(): Problem {
  return new Problem('database_timeout', 'The database did not answer in time. Please try again.');
}
