import {
  ArrayMaxSize,
  ArrayMinSize,
  ValidateBy,
  ValidateIf,
  type ValidationOptions,
} from 'class-validator';
import type { RawQuery } from '../../http/api-request.js';
import { HeaderText, QueryInteger, QueryText } from '../../http/input/parameters.js';
import { MarketFilters } from '../markets-query.dto.js';
import { SCOPE_FIELDS, scopeOf, type Scope } from '../scope.js';
import { readCursor } from './cursor.js';

/** How many ids one watch may have, of both names together. */
const WATCHED_MAX = 50;

const CURSOR = 'the `cursor` (or the `id` of an event) of an earlier answer to the same question';
const EITHER = SCOPE_FIELDS.map((field) => `\`${field}\``).join(' or ');
const HOW_MANY = `At least one ${EITHER} is needed, at most ${WATCHED_MAX} of both together.`;

const TOGETHER: ValidationOptions = {
  message: `must be given from 1 to ${WATCHED_MAX} times, ${SCOPE_FIELDS.join(' and ')} together`,
  context: { in: 'query', name: 'fixtureId' },
};

/** Too many of one name are told by themselves. */
const hasFewOfEach = ({ ids }: WatchQuery) =>
  SCOPE_FIELDS.every((field) => ids.filter((id) => field in id).length <= WATCHED_MAX);

const IsCursor = () =>
  ValidateBy(
    { name: 'isCursor', validator: { validate: (text: string) => readCursor(text) !== undefined } },
    { message: 'must be a cursor as an answer or an event gave it' },
  );

/** Which markets are watched, and since when. */
export class WatchQuery extends MarketFilters {
  @QueryText({
    description: `The service's own fixture id. ${HOW_MANY}`,
    example: 'demo-fixture-1',
    maxItems: WATCHED_MAX,
  })
  readonly fixtureId?: readonly string[];

  @QueryText({ description: `The provider's event id. ${HOW_MANY}`, maxItems: WATCHED_MAX })
  readonly eventId?: readonly string[];

  @QueryText({ description: `Only what is new since then: ${CURSOR}.` })
  @IsCursor()
  readonly since?: string;

  /** What is watched, in the order of the query. */
  @ValidateIf(hasFewOfEach)
  @ArrayMinSize(1, TOGETHER)
  @ArrayMaxSize(WATCHED_MAX, TOGETHER)
  readonly ids: readonly Scope[];

  constructor(query: RawQuery = []) {
    super();
    this.ids = query.flatMap(([name, id]) => scopeOf(name, id) ?? []);
  }
}

export class StreamQuery extends WatchQuery {
  @QueryInteger({
    description:
      'Collect changes for so many milliseconds, so that a price that moves often is told less often.',
    minimum: 0,
    maximum: 10_000,
  })
  readonly conflateMs: number = 0;

  @HeaderText({
    name: 'Last-Event-ID',
    description: `As \`since\`, and wins over it; browsers send it by themselves: ${CURSOR}.`,
  })
  @IsCursor()
  readonly lastEventId?: string;
}
