import type { MarketRecord } from './market-record.js';
import type { Place } from './reject-log.js';

/** A record that passed the check, with its place and its length in the input. */
export interface ImportEntry extends Place {
  readonly bytes: number;
  readonly record: MarketRecord;
}

/** The records of one market in a batch. */
export interface MarketEntries {
  readonly entries: readonly ImportEntry[];
  /** How many of them make a difference to what was there before. */
  readonly changes: number;
}

/** Counts what becomes of the records of a batch. */
export class BatchTally {
  readonly counts = { inserted: 0, updated: 0, unchanged: 0 };
  readonly refused: { readonly entry: ImportEntry; readonly reason: string }[] = [];

  /** @param outcome of the market: if it was inserted, its first change counts as that, and the others as updates */
  count({ entries, changes }: MarketEntries, outcome: keyof BatchTally['counts']): void {
    const changed = outcome === 'unchanged' ? 0 : changes;
    this.counts.unchanged += entries.length - changed;
    this.counts.updated += changed;
    if (outcome !== 'inserted') return;
    this.counts.inserted++;
    this.counts.updated--;
  }

  refuse({ entries }: MarketEntries, reason: string): void {
    for (const entry of entries) this.refused.push({ entry, reason });
  }
}
