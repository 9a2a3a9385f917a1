import { Injectable } from '@nestjs/common';
import { ChangeFeed } from '../../change-feed/change-feed.js';
import { JsonBody } from '../json-body.js';
import { withGroups } from './group.js';
import { ResetReader, type WatchState } from './reset-reader.js';
import { WatchGroups } from './watch-groups.js';
import { WatchOpening } from './watch-opening.js';
import type { WatchQuestion } from './watch-question.js';

/** Answers with what is new of a watch: from memory, else with all of it from MongoDB. */
@Injectable()
export class ChangesService {
  constructor(
    private readonly opening: WatchOpening,
    private readonly feed: ChangeFeed,
    private readonly groups: WatchGroups,
    private readonly reader: ResetReader,
  ) {}

  /**
   * The body of an answer.
   * @throws Problem when there are too many markets, or neither memory nor MongoDB can answer
   */
  async answer(question: WatchQuestion): Promise<JsonBody> {
    const unavailable = await this.opening.open(question);
    const fromMemory = unavailable ? undefined : this.fromMemory(question);
    const { groups, position, ageMs } = fromMemory ?? (await this.reader.read(question));
    const cursor = question.watch.cursorAt(position);
    const meta = JSON.stringify({ cursor, ageMs: Math.ceil(ageMs) });
    return new JsonBody(withGroups('', groups, `,"meta":${meta}}`));
  }

  /** @returns undefined when the feed fell behind, or a scope was lost, since the opening */
  private fromMemory({ watch, since }: WatchQuestion): WatchState | undefined {
    const { isCurrent, position, ageMs } = this.feed;
    if (!isCurrent || !position || !this.groups.hasAll(watch)) return undefined;
    return { groups: this.groups.groups(watch, since), position, ageMs };
  }
}
