import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../until.js';
import { ask, type Outcome } from './open-loop.js';

const PROBE_EVERY_MS = 100;

/** Sends requests to the instances that say they are ready, in turn, as a proxy does. It never tries again. */
export class Balancer {
  private readonly agent = new Agent({ keepAlive: true });
  private readonly closed = new AbortController();
  private readonly probing: Promise<unknown>;
  private ready: readonly number[] = [];
  private turn = 0;

  constructor(
    private readonly ports: readonly number[],
    private readonly key: string,
  ) {
    this.probing = this.probe();
  }

  /** Resolves when the instance was seen to be ready. */
  whenReady(port: number): Promise<void> {
    return until(() => this.ready.includes(port));
  }

  whenUnready(port: number): Promise<void> {
    return until(() => !this.ready.includes(port));
  }

  ask(path: string): Promise<Outcome> {
    const port = this.ready[this.turn++ % this.ready.length] ?? 0;
    return ask({ port, key: this.key }, path, { agent: this.agent });
  }

  async close(): Promise<void> {
    this.closed.abort();
    await this.probing;
    this.agent.destroy();
  }

  private async probe(): Promise<void> {
    while (!this.closed.signal.aborted) {
      const states = await Promise.all(this.ports.map((port) => ask({ port }, '/health/ready')));
      this.ready = this.ports.filter((_port, index) => states[index]?.status === 200);
      await delay(PROBE_EVERY_MS);
    }
  }
}
