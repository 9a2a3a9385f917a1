import cliProgress from 'cli-progress';

const BAR_EVERY_MS = 1_000;
const LINE_EVERY_MS = 10_000;

/** How far an import is, on stderr: a bar with rate and time left on a terminal, a line now and then elsewhere. */
export class ImportProgress {
  private readonly bar = process.stderr.isTTY ? barFor(this.totalBytes) : undefined;
  private readonly timer: NodeJS.Timeout;
  private isStopped = false;
  /** The bar shows them as they are whenever it is drawn. */
  private readonly figures = { megabytes: 0, read: 0, rate: 0 };

  /** @param totalBytes length of the input, 0 when nobody knows */
  constructor(
    private readonly totalBytes: number,
    private readonly sayPlainly: (message: string) => Promise<void>,
  ) {
    const everyMs = this.bar ? BAR_EVERY_MS : LINE_EVERY_MS;
    let before = 0;
    this.timer = setInterval(() => {
      const { megabytes, read } = this.figures;
      const rate = Math.round((read - before) / (everyMs / 1000));
      this.figures.rate = rate;
      if (!this.bar && read > before)
        void sayPlainly(`${read} records (${megabytes} MB) read, ${rate} a second`);
      before = read;
    }, everyMs).unref();
    this.bar?.start(totalBytes, 0, this.figures);
    // A second signal ends the process at once: the terminal has its cursor back even so.
    if (this.bar) process.once('exit', () => this.bar?.stop());
  }

  update(bytes: number, read: number): void {
    Object.assign(this.figures, { megabytes: Math.round(bytes / 1_000_000), read });
    this.bar?.update(bytes);
  }

  /** A line on stderr that does not run into the bar, which is drawn again at its next turn; nothing after the end. */
  async say(message: string): Promise<void> {
    if (this.isStopped) return;
    if (this.bar) process.stderr.write('\r\u001b[K');
    await this.sayPlainly(message);
  }

  stop(): void {
    this.isStopped = true;
    clearInterval(this.timer);
    this.bar?.stop();
  }
}

function barFor(totalBytes: number): cliProgress.SingleBar {
  const known = '{bar} {percentage}% | {read} records, {rate}/s | {eta_formatted} left';
  const unknown = '{megabytes} MB | {read} records, {rate}/s | {duration_formatted}';
  const options = {
    format: totalBytes > 0 ? known : unknown,
    hideCursor: true,
    clearOnComplete: true,
    etaBuffer: 100,
    gracefulExit: false,
  };
  return new cliProgress.SingleBar(options, cliProgress.Presets.shades_classic);
}
