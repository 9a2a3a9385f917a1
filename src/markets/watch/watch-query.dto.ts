import type { RawQuery } from '../../http/api-request.js';
import { every, HeaderText, QueryInteger, QueryText } from '../../http/input/parameters.js';
import type { RequestFault } from '../../http/problem-body.dto.js';
import { MarketFilters } from '../markets-query.dto.js';
import { SCOPE_FIELDS, scopesOf, type Scope } from '../scope.js';
import { readCursor } from './cursor.js';

/** How many ids one watch may have, of all names together. */
const WATCH_IDS_MAX = 50;

/** Ids that one request is counted for. */
const IDS_PER_REQUEST = 10;

const CURSOR = 'the `cursor` (or the `id` of an event) of an earlier answer to the same question';
const EITHER = SCOPE_FIELDS.map((field) => `\`${field}\``).join(' or ');
const HOW_MANY = `At least one ${EITHER} is needed, at most ${WATCH_IDS_MAX} together.`;

const WRONG_COUNT: RequestFault = {
  in: 'query',
  name: 'fixtureId',
  detail: `must be given from 1 to ${WATCH_IDS_MAX} times, ${SCOPE_FIELDS.join(' and ')} together`,
};

const isCursor = every(
  (text) => readCursor(String(text)) !== undefined,
  'must be a cursor as an answer or an event gave it',
);

/** Which markets are watched, and since when. */
export class WatchQuery extends MarketFilters {
  @QueryText({
    description: `The service's own fixture id. ${HOW_MANY}`,
    example: 'demo-fixture-1',
    maxItems: WATCH_IDS_MAX,
  })
  readonly fixtureId?: readonly string[];

  @QueryText({ description: `The provider's event id. ${HOW_MANY}`, maxItems: WATCH_IDS_MAX })
  readonly eventId?: readonly string[];

  @QueryText({ description: `Only what is new since then: ${CURSOR}.`, rule: isCursor })
  readonly since?: string;

  /** What is watched, in the order of the query. */
  readonly scopes: readonly Scope[];

  constructor(query: RawQuery = []) {
    super();
    this.scopes = query.flatMap(([name, id]) => scopesOf({ [name]: id }));
  }

  /** How many requests it counts as. */
  get cost(): number {
    return Math.ceil(this.scopes.length / IDS_PER_REQUEST);
  }

  faults(): RequestFault[] {
    const { length } = this.scopes;
    // Too many of one name are reported at that name.
    const hasManyOfOne = SCOPE_FIELDS.some(
      (field) =>
        this.scopes.filter((scope) => scope.startsWith(`${field}:`)).length > WATCH_IDS_MAX,
    );
    return hasManyOfOne || (length >= 1 && length <= WATCH_IDS_MAX) ? [] : [WRONG_COUNT];
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
    description: `As \`since\`, and wins over it; browsers send it by themselves: ${CURSOR}.`,
    rule: isCursor,
  })
  readonly 'Last-Event-ID'?: string;
}
