import { MongoServerError } from 'mongodb';

/** Null for what MongoDB refuses to show; a failure of the connection stays one. */
export async function visible<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof MongoServerError) return null;
    throw error;
  }
}
