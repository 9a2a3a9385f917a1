import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Relay } from '../relay.js';

/** How slow the network is; nothing given: as fast as it goes. */
interface Slowness {
  /** Added to whatever is sent, in each direction, in ms. */
  readonly delayMs?: number;
  /** Of each connection in each direction. */
  readonly bytesPerSecond?: number;
}

/** The network between the service and MongoDB: it can be slow, or swallow everything without a word. */
export class TcpProxy extends Relay {
  slowness: Slowness = {};
  private healed = Promise.resolve();
  private letThrough: () => void = () => undefined;

  /** Nothing gets through any more, not even the end of a connection; new connections are accepted. */
  blackHole(): void {
    this.healed = new Promise((resolve) => {
      this.letThrough = resolve;
    });
  }

  /** What was held back gets through, as TCP sends again what was lost. */
  heal(): void {
    this.letThrough();
  }

  override close(): void {
    this.heal();
    super.close();
  }

  protected carry(caller: Socket, service: Socket): void {
    this.forward(caller, service);
    this.forward(service, caller);
  }

  /** The end of a connection is held back like all else. */
  protected override hangUp(): void {}

  private forward(from: Socket, to: Socket): void {
    let passed = Promise.resolve();
    let freeAt = 0;
    const pass = (bytes: number, act: () => void) => {
      const { delayMs = 0, bytesPerSecond = Infinity } = this.slowness;
      const sendingMs = (bytes / bytesPerSecond) * 1000;
      freeAt = Math.max(freeAt, performance.now() + delayMs) + sendingMs;
      const at = freeAt;
      passed = passed.then(() => this.hold(at)).then(act);
    };
    from.on('data', (chunk: Buffer) => pass(chunk.length, () => void to.write(chunk)));
    from.once('close', () => pass(0, () => to.destroy()));
  }

  private async hold(until: number): Promise<void> {
    const leftMs = until - performance.now();
    if (leftMs > 0) await delay(leftMs);
    await this.healed;
  }
}
