import { MongoError, MongoNetworkTimeoutError } from 'mongodb';
import { Problem } from '../http/problem.js';
import { isBrokenSocket, isTimeExpired } from './mongo-errors.js';

/** What a caller is told of an error of MongoDB or its connection; other errors stay as they are. */
export function problemOf(error: unknown): unknown {
  if (isBrokenSocket(error)) return unavailable();
  if (!(error instanceof MongoError)) return error;
  if (error instanceof MongoNetworkTimeoutError || isTimeExpired(error)) return timeout();
  return unavailable();
}

export function unavailable(): Problem {
  return new Problem('database_unavailable', 'The database cannot be reached. Please try again.');
}

export function timeout(): Problem {
  return new Problem('database_timeout', 'The database did not answer in time. Please try again.');
}
