import cliProgress from 'cli-progress';

const PLAIN_LINE_EVERY_MS = 10_000;

/** How far an import is, on stderr: a bar with rate and time left on a terminal, a line now and then elsewhere. */
export class Progress {
  private readonly startedAt = performance.now();
  private readonly bar: cliProgress.SingleBar | undefined;
  private saidAt = this.startedAt;

  /** @param totalBytes length of the input, 0 when nobody knows */
  constructor(
    private readonly totalBytes: number,
    private readonly stderr: NodeJS.WriteStream = process.stderr,
  ) {
    if (!stderr.isTTY) return;
    const known = '{bar} {percentage}% | {read} records, {rate}/s | {eta_formatted} left';
    const unknown = '{megabytes} MB | {read} records, {rate}/s | {duration_formatted}';
    this.bar = new cliProgress.SingleBar(
      {
        format: totalBytes > 0 ? known : unknown,
        stream: stderr,
        hideCursor: true,
        clearOnComplete: true,
        etaBuffer: 100,
        gracefulExit: false,
      },
      cliProgress.Presets.shades_classic,
    );
    this.bar.start(totalBytes, 0, this.figures(0, 0));
  }

  update(bytes: number, read: number): void {
    // A file may have grown since it was measured.
    this.bar?.update(Math.min(bytes, this.totalBytes || bytes), this.figures(bytes, read));
    if (this.bar || performance.now() - this.saidAt < PLAIN_LINE_EVERY_MS) return;
    this.saidAt = performance.now();
    const { megabytes, rate } = this.figures(bytes, read);
    this.say(`${read} records (${megabytes} MB) read, ${rate} a second`);
  }

  /** A line on stderr that does not run into the bar, which is drawn again at its next turn. */
  say(message: string): void {
    if (this.bar) this.stderr.write('\r\u001b[K');
    this.stderr.write(`${message}\n`);
  }

  stop(): void {
    this.bar?.stop();
  }

  private figures(bytes: number, read: number) {
    const seconds = (performance.now() - this.startedAt) / 1000;
    return { read, rate: Math.round(read / seconds), megabytes: Math.round(bytes / 1_000_000) };
  }
}
