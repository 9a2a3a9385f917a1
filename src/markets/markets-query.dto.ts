import { PathId, QueryChoices, QueryInteger, QueryText } from '../http/input/parameters.js';
import { TAKE_MAX, type PageQuery } from '../http/input/page.js';
import {
  MARKET_MOMENTS,
  MARKET_TYPES,
  type MarketMoment,
  type MarketType,
} from './market.schema.js';

/** How many values a filter may have. */
const maxItems = 20;

/** Which markets are wanted: of each filter that is given, those that have one of its values. */
export class MarketFilters {
  @QueryChoices({ description: 'Only markets of these moments.', values: MARKET_MOMENTS, maxItems })
  readonly marketMoment?: readonly MarketMoment[];

  @QueryChoices({ description: 'Only markets of these types.', values: MARKET_TYPES, maxItems })
  readonly marketType?: readonly MarketType[];

  @QueryText({
    description: 'Only markets in these states, such as `OPEN` or `SUSPENDED`; compared exactly.',
    maxItems,
  })
  readonly marketStatus?: readonly string[];

  @QueryText({
    description: 'Only markets of these odds providers; names are compared exactly.',
    maxItems,
  })
  readonly provider?: readonly string[];
}

/** What both look-ups take in the query. */
export class MarketsQuery extends MarketFilters implements PageQuery {
  @QueryInteger({
    description: 'Which page, starting at 1.',
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
  })
  readonly page: number = 1;

  @QueryInteger({
    description: 'Items per page.',
    minimum: 1,
    maximum: TAKE_MAX,
  })
  readonly take: number = 10;
}

export class EventLookup extends MarketsQuery {
  @PathId({ description: "The provider's event id.", example: 'nb-1001' })
  readonly eventId!: string;
}

export class FixtureLookup extends MarketsQuery {
  @PathId({ description: "The service's own fixture id.", example: 'demo-fixture-1' })
  readonly fixtureId!: string;
}
