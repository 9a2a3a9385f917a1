import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import type { Caller } from '../../http/api-request.js';
import { Config } from '../../config.js';
import { overloaded } from '../../http/overload/overloaded.js';
import { tooManyStreams } from './watch-problems.js';

/** How many streams may be open: of a key, and in all. A new one never displaces another. */
@Injectable()
export class StreamLimits {
  private readonly ofKeys = new Map<string, number>();
  private all = 0;

  constructor(private readonly config: Config) {}

  /**
   * Counts a stream until its response is closed, whether it is opened or refused later.
   * @throws Problem `too_many_streams` or `overloaded`
   */
  take({ id, streams }: Caller, response: Response): void {
    const limit = streams ?? this.config.streamsPerKey;
    if ((this.ofKeys.get(id) ?? 0) >= limit) throw tooManyStreams(limit);
    if (this.all >= this.config.streamsMax) throw overloaded();
    this.count(id, 1);
    response.once('close', () => this.count(id, -1));
  }

  private count(id: string, difference: 1 | -1): void {
    this.all += difference;
    const open = (this.ofKeys.get(id) ?? 0) + difference;
    if (open > 0) this.ofKeys.set(id, open);
    else this.ofKeys.delete(id);
  }
}
