import { overloaded } from '../http/overload/overloaded.js';

/** The duration of one read counts for so much in what is usual. */
const WEIGHT = 1 / 16;

/** Of a read's time, how much it may wait at most. */
const LONGEST_WAIT_SHARE = 0.5;

/** What must be left for the read itself, in terms of what is usual. */
const READ_SHARE = 1.25;

/**
 * Lets so many reads run at once. Others wait for their turn, but only as long as they can: who would wait
 * longer, to judge by what reads take at present, is told at once.
 */
export class ReadSlots {
  private free: number;
  private usualMs = 0;
  private readonly waiting = new Set<() => void>();

  constructor(private readonly slots: number) {
    this.free = slots;
  }

  /**
   * @param withinMs time for the wait and the read, in milliseconds
   * @param read gets the milliseconds that were waited
   * @throws Problem `overloaded`
   */
  async run<T>(withinMs: number, read: (waitedMs: number) => Promise<T>): Promise<T> {
    const waitedMs = this.free > 0 ? this.take() : await this.turn(withinMs);
    const startedAt = performance.now();
    try {
      return await read(waitedMs);
    } finally {
      this.usualMs += WEIGHT * (performance.now() - startedAt - this.usualMs);
      this.pass();
    }
  }

  private take(): number {
    this.free -= 1;
    return 0;
  }

  private turn(withinMs: number): Promise<number> {
    const longestWaitMs = Math.min(
      withinMs * LONGEST_WAIT_SHARE,
      withinMs - this.usualMs * READ_SHARE,
    );
    const readsBefore = (this.waiting.size + 1) / this.slots;
    if (readsBefore * this.usualMs > longestWaitMs) throw overloaded();
    const since = performance.now();
    return new Promise((resolve, reject) => {
      const tooLate = setTimeout(() => {
        this.waiting.delete(go);
        reject(overloaded());
      }, longestWaitMs);
      const go = () => {
        clearTimeout(tooLate);
        this.waiting.delete(go);
        resolve(performance.now() - since);
      };
      this.waiting.add(go);
    });
  }

  /** To who has waited longest. */
  private pass(): void {
    const [next] = this.waiting;
    if (next) next();
    else this.free += 1;
  }
}
