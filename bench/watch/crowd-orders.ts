/** What the process that holds many streams is told to do; each order is answered by one message. */
export type CrowdOrder =
  | { readonly do: 'open'; readonly open: OpenOrder }
  | { readonly do: 'write'; readonly write: WriteOrder }
  | { readonly do: 'report' }
  | { readonly do: 'close' };

export interface OpenOrder {
  readonly key: string;
  /** Where each stream begins. */
  readonly port: number;
  /** Where a stream reconnects to when it ended; unset: it does not. */
  readonly returnTo?: number;
  /** One for each stream, with query. */
  readonly paths: readonly string[];
}

export interface WriteOrder {
  readonly uri: string;
  /** Numbers of the markets that change. */
  readonly markets: readonly number[];
  readonly perSecond: number;
  readonly seconds: number;
}

/** What has happened since the last report. Moments are of the system's clock, in milliseconds. */
export interface CrowdReport {
  readonly open: number;
  /** Streams that were told `current`: they have everything. */
  readonly whole: number;
  readonly events: Readonly<Record<string, number>>;
  /** Streams ended by reason, or by `cut` without one. */
  readonly ends: Readonly<Record<string, number>>;
  readonly endedAt: readonly number[];
  readonly returnedAt: readonly number[];
  /** Answers that were no stream, by status. */
  readonly refused: Readonly<Record<string, number>>;
  /** Ids of resumed streams, and those of them that were reset. */
  readonly resumedGroups: number;
  readonly resetGroups: number;
  /** Between two events of a stream, at most. */
  readonly silenceMs: number;
  /** From MongoDB's acknowledgement, and from the beginning of the write, to the arrival of each change. */
  readonly sinceAcknowledged: Quantiles;
  readonly sinceBegun: Quantiles;
}

export interface Quantiles {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
}
