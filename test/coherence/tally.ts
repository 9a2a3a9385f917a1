import type { Outcome } from './readers.js';

/** Longest time that an answer may be behind the database, in ms. */
export const BOUND_MS = { quiet: 250, faulty: 2_000 } as const;

/** What has failed may need this long to be trusted again, in ms, before quiet rules hold. */
const RECOVERY_MS = 1_000;

/** A fault, from before it is brought about until after it is mended; monotonic ms. */
interface FaultTime {
  readonly from: number;
  until: number;
}

/** Counts what the answers were worth. */
export class Tally {
  private readonly faults: FaultTime[] = [];
  private readonly stale = { quiet: [] as number[], faulty: [] as number[] };
  readonly wrong: string[] = [];
  reads = 0;
  notModified = 0;
  /** 503 and 504 while something was failing. */
  refused = 0;
  mixed = 0;
  tooStale = 0;
  slowestMs = 0;
  writes = 0;
  /** Answers that came from the service's memory. */
  fromMemory = 0;

  /** @returns to be called when the fault is mended */
  faultBegins(): () => void {
    const fault = { from: performance.now(), until: Infinity };
    this.faults.push(fault);
    return () => {
      fault.until = performance.now() + RECOVERY_MS;
    };
  }

  readonly count = (outcome: Outcome): void => {
    const { url, start, end, status, verdict, body } = outcome;
    const period = this.isFaulty(start - BOUND_MS.quiet, end) ? 'faulty' : 'quiet';
    this.slowestMs = Math.max(this.slowestMs, end - start);
    if (!verdict) {
      if (period === 'faulty' && (status === 503 || status === 504)) this.refused += 1;
      else this.note(`${period}: ${status} for ${url} after ${ms(end - start)}: ${body}`);
      return;
    }
    this.reads += 1;
    if (status === 304) this.notModified += 1;
    if (verdict.staleMs === undefined) {
      this.mixed += 1;
      this.note(`${period}: an answer of no state for ${url}: ${body}`);
      return;
    }
    this.stale[period].push(verdict.staleMs);
    if (verdict.staleMs > BOUND_MS[period]) {
      this.tooStale += 1;
      this.note(`${period}: ${status}, ${ms(verdict.staleMs)} stale, for ${url}`);
    }
  };

  /** The age below which this share of the answers is, in ms. */
  staleness(period: keyof typeof BOUND_MS, share: number): number {
    const sorted = this.stale[period].toSorted((one, other) => one - other);
    return sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
  }

  /** How many faults there were. */
  get faultCount(): number {
    return this.faults.length;
  }

  /** Keys that were revoked in time, and those that were let in after. */
  revoked = 0;
  letInAfter = 0;

  keyRevoked(letInAfterMs: number | undefined): void {
    this.revoked += 1;
    if (letInAfterMs === undefined) return;
    this.letInAfter += 1;
    this.note(`a key was let in ${ms(letInAfterMs)} after it was revoked`);
  }

  private isFaulty(from: number, until: number): boolean {
    return this.faults.some((fault) => fault.from <= until && fault.until >= from);
  }

  private note(fault: string): void {
    if (this.wrong.length < WRONG_MAX) this.wrong.push(fault.slice(0, 2_000));
  }
}

const WRONG_MAX = 20;

function ms(duration: number): string {
  return `${duration.toFixed(0)} ms`;
}
