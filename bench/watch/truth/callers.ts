import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Group } from '../../../test/watch-client.js';
import { EventStream, type StreamEvent, type StreamListener } from '../event-stream.js';
import { ToldState, type Judge, type Question } from './judge.js';

export interface Service {
  readonly ports: readonly number[];
  readonly key: string;
}

const COMPARED_EVERY_MS = 700;
const POLL_TIMEOUT_MS = 10_000;

/** Somebody who follows a watch, is cut off at random, and goes on at any replica. */
abstract class Caller {
  protected readonly told: ToldState;
  protected cursor: string | undefined;
  protected isEnding = false;
  private comparedAt = 0;
  cuts = 0;
  /** States compared since the writer was done. */
  comparedAtEnd = 0;

  constructor(
    protected readonly service: Service,
    private readonly question: Question,
    judge: Judge,
  ) {
    this.told = new ToldState(question, judge);
  }

  abstract close(): void;

  /** To be called when nobody writes any more: from then on no connection is cut. */
  settle(): void {
    this.isEnding = true;
  }

  protected get port(): number {
    return this.service.ports[randomInt(this.service.ports.length)] ?? 0;
  }

  protected path(route: string): string {
    const { eventIds, filter } = this.question;
    const query = new URLSearchParams(filter);
    for (const eventId of eventIds) query.append('eventId', eventId);
    return `/v1/markets/${route}?${query.toString()}`;
  }

  protected isWhole(cursor: string): void {
    this.cursor = cursor;
    const now = performance.now();
    const isCompared = this.isEnding || now - this.comparedAt > COMPARED_EVERY_MS;
    if (isCompared) this.comparedAt = now;
    this.told.whole(cursor, isCompared);
    if (this.isEnding) this.comparedAtEnd += 1;
  }

  /** Forgets everything now and then, as a new caller. */
  protected maybeForget(): void {
    if (randomInt(10) > 0) return;
    this.cursor = undefined;
    this.told.forget();
  }
}

export class Streamer extends Caller implements StreamListener {
  private stream = this.connect();
  private timer: NodeJS.Timeout | undefined;
  private isDone = false;

  opened(): void {
    if (this.isEnding) return;
    this.timer = setTimeout(
      () => {
        if (this.isEnding) return;
        this.cuts += 1;
        this.stream.close();
      },
      randomInt(50, 6_000),
    );
  }

  retry(): void {
    // The delay is ignored: a sooner return means more cuts in the same time.
  }

  event({ id, data }: StreamEvent): void {
    const { data: groups } = JSON.parse(data) as { data?: Group[] };
    if (groups) this.told.apply(groups);
    if (id !== undefined) this.isWhole(id);
  }

  closed(): void {
    clearTimeout(this.timer);
    setTimeout(
      () => {
        if (this.isDone) return;
        this.maybeForget();
        this.stream = this.connect();
      },
      randomInt(20, 500),
    );
  }

  close(): void {
    this.isDone = true;
    this.stream.close();
  }

  private connect(): EventStream {
    const { key } = this.service;
    const target = { port: this.port, key, path: this.path('stream'), lastId: this.cursor };
    return new EventStream(target, this);
  }
}

export class Poller extends Caller {
  private isDone = false;
  readonly polling = this.poll();

  close(): void {
    this.isDone = true;
  }

  private async poll(): Promise<void> {
    await delay(1);
    while (!this.isDone) {
      await this.ask().catch(() => undefined);
      await delay(randomInt(100, 800));
    }
  }

  private async ask(): Promise<void> {
    const isCut = !this.isEnding && randomInt(10) === 0;
    if (isCut) this.cuts += 1;
    else this.maybeForget();
    const since = this.cursor === undefined ? '' : `&since=${this.cursor}`;
    const answer = await fetch(`http://127.0.0.1:${this.port}${this.path('changes')}${since}`, {
      headers: { 'X-API-Key': this.service.key },
      signal: AbortSignal.timeout(isCut ? randomInt(1, 10) : POLL_TIMEOUT_MS),
    });
    const text = await answer.text();
    if (answer.status !== 200) return;
    const body = JSON.parse(text) as { data: Group[]; meta: { cursor: string } };
    this.told.apply(body.data);
    this.isWhole(body.meta.cursor);
  }
}
