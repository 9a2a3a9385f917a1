import cliProgress from 'cli-progress';

const PLAIN_LINE_EVERY_MS = 10_000;
/** The rate shown is that of the last one or two of these. */
const RATE_WINDOW_MS = 3_000;

interface Mark {
  readonly at: number;
  readonly read: number;
}

/** How far an import is, on stderr: a bar with rate and time left on a terminal, a line now and then elsewhere. */
export class Progress {
  private readonly bar: cliProgress.SingleBar | undefined;
  private readonly timer: NodeJS.Timeout | undefined;
  private before: Mark = { at: performance.now(), read: 0 };
  private lately = this.before;
  private saidAt = this.before.at;
  private bytes = 0;
  private read = 0;

  /** @param totalBytes length of the input, 0 when nobody knows */
  constructor(
    private readonly totalBytes: number,
    private readonly sayPlainly: (message: string) => Promise<void>,
  ) {
    if (!process.stderr.isTTY) return;
    const known = '{bar} {percentage}% | {read} records, {rate}/s | {eta_formatted} left';
    const unknown = '{megabytes} MB | {read} records, {rate}/s | {duration_formatted}';
    this.bar = new cliProgress.SingleBar(
      {
        format: totalBytes > 0 ? known : unknown,
        stream: process.stderr,
        hideCursor: true,
        clearOnComplete: true,
        etaBuffer: 100,
        gracefulExit: false,
      },
      cliProgress.Presets.shades_classic,
    );
    this.bar.start(totalBytes, 0, this.figures());
    // The rate of a feed that has fallen silent falls as well.
    this.timer = setInterval(() => this.draw(), 1_000).unref();
  }

  update(bytes: number, read: number): void {
    this.bytes = bytes;
    this.read = read;
    this.draw();
    if (this.bar || performance.now() - this.saidAt < PLAIN_LINE_EVERY_MS) return;
    this.saidAt = performance.now();
    const { megabytes, rate } = this.figures();
    void this.sayPlainly(`${read} records (${megabytes} MB) read, ${rate} a second`);
  }

  /** A line on stderr that does not run into the bar, which is drawn again at its next turn. */
  async say(message: string): Promise<void> {
    if (this.bar) process.stderr.write('\r\u001b[K');
    await this.sayPlainly(message);
  }

  stop(): void {
    clearInterval(this.timer);
    this.bar?.stop();
  }

  private draw(): void {
    // A file may have grown since it was measured.
    this.bar?.update(Math.min(this.bytes, this.totalBytes || this.bytes), this.figures());
  }

  private figures() {
    const { read } = this;
    const at = performance.now();
    if (at - this.lately.at > RATE_WINDOW_MS) {
      this.before = this.lately;
      this.lately = { at, read };
    }
    const seconds = Math.max(at - this.before.at, 1) / 1000;
    const rate = Math.round((read - this.before.read) / seconds);
    return { read, rate, megabytes: Math.round(this.bytes / 1_000_000) };
  }
}
