import { PathId, QueryChoice } from '../http/input/input.js';
import { PageQuery } from '../http/input/page.js';
import {
  MARKET_MOMENTS,
  MARKET_TYPES,
  type MarketMoment,
  type MarketType,
} from './market.schema.js';

/** What both look-ups take in the query. */
export class MarketsQuery extends PageQuery {
  @QueryChoice({ description: 'Only markets of this moment.', values: MARKET_MOMENTS })
  readonly marketMoment?: MarketMoment;

  @QueryChoice({ description: 'Only markets of this type.', values: MARKET_TYPES })
  readonly marketType?: MarketType;
}

export class EventLookup extends MarketsQuery {
  @PathId({ description: "The provider's event id.", example: 'nb-1001' })
  readonly eventId!: string;
}

export class FixtureLookup extends MarketsQuery {
  @PathId({ description: "The service's own fixture id.", example: 'demo-fixture-1' })
  readonly fixtureId!: string;
}
