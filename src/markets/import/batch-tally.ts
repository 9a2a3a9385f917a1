import type { Outcome } from './market-plan.js';
import type { MarketRecord } from './market-record.js';

/** A record that passed the check, with its place and its length in the input. */
export interface ImportEntry {
  readonly file: string;
  readonly line: number;
  readonly bytes: number;
  readonly record: MarketRecord;
}

/** What became of a batch. */
export interface BatchOutcome {
  readonly counts: Readonly<Record<Outcome, number>>;
  readonly refused: readonly { readonly entry: ImportEntry; readonly reason: string }[];
}

/** The records of one market, and how many of them make a difference. */
interface Counted {
  readonly entries: readonly ImportEntry[];
  readonly changes: number;
}

/** Counts what becomes of the records of a batch. */
export class BatchTally implements BatchOutcome {
  readonly counts = { inserted: 0, updated: 0, unchanged: 0 };
  readonly refused: { entry: ImportEntry; reason: string }[] = [];

  /** @param outcome of the market: of several records that change it, one may insert it, and the others update it */
  count({ entries, changes }: Counted, outcome: Outcome): void {
    const changed = outcome === 'unchanged' ? 0 : changes;
    this.counts.unchanged += entries.length - changed;
    this.counts.updated += changed;
    if (outcome !== 'inserted') return;
    this.counts.inserted++;
    this.counts.updated--;
  }

  refuse({ entries }: Counted, reason: string): void {
    for (const entry of entries) this.refused.push({ entry, reason });
  }
}
