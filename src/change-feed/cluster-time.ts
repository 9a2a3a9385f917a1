import { Timestamp } from 'mongodb';

/** Where a change stream stands; opaque but for the cluster time that it begins with. */
export interface ResumeToken {
  readonly _data: string;
}

/**
 * The cluster time of a resume token: its data is a KeyString in hex that starts with the type byte of a
 * timestamp (0x82), then seconds and increment (MongoDB's src/mongo/db/pipeline/resume_token.h).
 */
export function clusterTimeOf({ _data }: ResumeToken): Timestamp {
  const [, seconds, increment] = /^82([0-9a-f]{8})([0-9a-f]{8})/i.exec(_data) ?? [];
  if (!seconds || !increment) throw new Error('The resume token has an unknown form');
  return new Timestamp({ t: Number.parseInt(seconds, 16), i: Number.parseInt(increment, 16) });
}

export function laterOf(one: Timestamp, other: Timestamp | undefined): Timestamp {
  return other?.greaterThan(one) ? other : one;
}

export function secondsBefore(clusterTime: Timestamp, seconds: number): Timestamp {
  return new Timestamp({ t: clusterTime.t - seconds, i: 0 });
}
