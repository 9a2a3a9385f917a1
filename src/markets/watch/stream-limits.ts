import { Injectable } from '@nestjs/common';
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
   * Counts a stream in.
   * @returns counts it out; a second call does nothing
   * @throws Problem `too_many_streams` or `overloaded`
   */
  take({ id, streams }: Caller): () => void {
    const limit = streams ?? this.config.streamsPerKey;
    const open = this.ofKeys.get(id) ?? 0;
    if (open >= limit) throw tooManyStreams(limit);
    if (this.all >= this.config.streamsMax) throw overloaded();
    this.ofKeys.set(id, open + 1);
    this.all += 1;
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.all -= 1;
      const left = (this.ofKeys.get(id) ?? 1) - 1;
      if (left > 0) this.ofKeys.set(id, left);
      else this.ofKeys.delete(id);
    };
  }
}
