import { overloaded, type Problem } from '../http/problem.js';

/** The weight of one read in the moving average of their durations. */
const WEIGHT = 1 / 16;

/** The share of its time that a read may spend waiting. */
const WAIT_SHARE_MAX = 0.5;

/** What must be left for the read itself, as a multiple of the average. */
const READ_SHARE = 1.25;

/**
 * Bounds the reads that run at once. Others wait, and are refused at once if by the average duration they would wait
 * too long.
 */
export class ReadSlots {
  private free = this.slots;
  private averageMs = 0;
  private readonly waiting = new Set<() => void>();
  /** Called for each read that gets no slot. */
  onRefusal: () => void = () => undefined;

  constructor(private readonly slots: number) {}

  get areAllTaken(): boolean {
    return this.free === 0;
  }

  /** How many reads wait for a slot. */
  get queueLength(): number {
    return this.waiting.size;
  }

  /**
   * @param withinMs time for the wait and the read, in milliseconds
   * @throws Problem `overloaded`
   */
  async run<T>(withinMs: number, read: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free -= 1;
    else await this.waitForSlot(withinMs);
    const startedAt = performance.now();
    try {
      return await read();
    } finally {
      this.averageMs += WEIGHT * (performance.now() - startedAt - this.averageMs);
      this.release();
    }
  }

  /** Waits until another read releases its slot. */
  private waitForSlot(withinMs: number): Promise<void> {
    const longestWaitMs = Math.min(
      withinMs * WAIT_SHARE_MAX,
      withinMs - this.averageMs * READ_SHARE,
    );
    const readsBefore = (this.waiting.size + 1) / this.slots;
    if (readsBefore * this.averageMs > longestWaitMs) throw this.refusal();
    return new Promise((resolve, reject) => {
      const tooLate = setTimeout(() => {
        this.waiting.delete(go);
        reject(this.refusal());
      }, longestWaitMs);
      const go = () => {
        clearTimeout(tooLate);
        this.waiting.delete(go);
        resolve();
      };
      this.waiting.add(go);
    });
  }

  private refusal(): Problem {
    this.onRefusal();
    return overloaded();
  }

  /** Gives the slot to the read that has waited longest. */
  private release(): void {
    const [next] = this.waiting;
    if (next) next();
    else this.free += 1;
  }
}
