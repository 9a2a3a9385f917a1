import { writeSync } from 'node:fs';
import type { DestinationStream } from 'pino';

/** How much may wait for a reader who has stopped reading; beyond it new lines are lost. Characters. */
const WAITING_MAX = 8 * 1024 * 1024;

/** Lines that come within this time are written together: a system call for each costs a tenth of a look-up's time. */
export const WRITE_EVERY_MS = 5;

/** How long the end of the process waits for a reader who has stopped. Milliseconds. */
const LAST_WRITES_MS = 1_000;

/**
 * Writes lines to a file descriptor that does not block, those of some milliseconds together; what a full pipe does not
 * take is tried again. So a slow reader never holds up requests, and a stopped one the end of the process for a second
 * at most. Lines are lost by SIGKILL, by a disk that is full, and by a reader who has stopped.
 *
 * pino's own destinations were tried: on such a pipe the synchronous one stops the event loop, the other
 * sleeps 100 ms at each full pipe (some 640 kB a second); on one that blocks the process can't end.
 */
export class LineWriter implements DestinationStream {
  private waiting = '';
  /** What the pipe has not taken yet of the lines that were written last. */
  private chunk: Buffer = Buffer.alloc(0);
  private nextWrite: NodeJS.Timeout | undefined;
  private lost = 0;

  /** @param format makes of a line what is written */
  constructor(
    private readonly fd: number,
    private readonly format: (line: string) => string = String,
  ) {
    process.once('exit', () => this.flushSync());
  }

  write(line: string): void {
    if (this.waiting.length > WAITING_MAX) {
      this.lost += 1;
      return;
    }
    this.waiting += this.format(line);
    this.nextWrite ??= this.writeSoon();
  }

  /** Writes what waits, for as long as the end of the process may take. */
  flushSync(): void {
    const until = performance.now() + LAST_WRITES_MS;
    while (!this.writeAll() && performance.now() < until) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, WRITE_EVERY_MS);
    }
  }

  private writeSoon(): NodeJS.Timeout {
    return setTimeout(() => {
      this.nextWrite = this.writeAll() ? undefined : this.writeSoon();
    }, WRITE_EVERY_MS).unref();
  }

  /** Whether nothing waits any more. */
  private writeAll(): boolean {
    try {
      while (this.chunk.length > 0 || this.takeWaiting()) {
        this.chunk = this.chunk.subarray(writeSync(this.fd, this.chunk));
      }
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false;
      // The reader is gone or the disk is full: no reason to stop serving. Later lines are tried again.
      this.chunk = Buffer.alloc(0);
      // A full disk may have cut a line.
      this.waiting = '\n';
      return true;
    }
  }

  private takeWaiting(): boolean {
    this.chunk = Buffer.from(this.waiting);
    this.waiting = '';
    if (this.lost > 0) {
      const msg = `${this.lost} lines of the log were lost: nobody read them`;
      this.waiting = this.format(`${JSON.stringify({ level: 'warn', time: new Date(), msg })}\n`);
      this.lost = 0;
    }
    return this.chunk.length > 0;
  }
}
