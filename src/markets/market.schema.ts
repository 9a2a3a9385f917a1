import { Schema, type SchemaOptions } from 'mongoose';
import { MARKETS } from '../common/collections.js';
import { SCOPE_FIELDS } from './scope.js';
import { listFields, StoredField, type StoredFieldRule } from './stored-field.decorator.js';

export const MARKET_MOMENTS = ['live', 'prelive'] as const;
export type MarketMoment = (typeof MARKET_MOMENTS)[number];

export const MARKET_TYPES = [
  'BTTS',
  'MATCH_ODDS',
  'OVER_UNDER',
  'DOUBLE_CHANCE',
  'UNDER_OVER_HT',
] as const;
export type MarketType = (typeof MARKET_TYPES)[number];

/** What can be backed on a market, at which price. */
export class Runner {
  @StoredField('exact', "Provider's runner identifier.", '1-home')
  readonly runnerId!: string;

  @StoredField('text', 'Display name of the selection.', 'Over 2.5')
  readonly name!: string;

  @StoredField('price', 'Decimal odds, as stored.', 1.85)
  readonly price!: number;

  @StoredField('text', 'Line of the selection, such as goals or a handicap.', '2.5', {
    optional: true,
  })
  readonly line?: string;
}

/** A betting market of one provider on one event, with its runners. */
export class Market {
  @StoredField('objectId', 'Record identifier.', '692000000000000000000001')
  readonly _id!: unknown;

  @StoredField('date', 'Creation time.', '2026-11-21T07:03:00.044Z', { optional: true })
  readonly createdAt!: Date;

  @StoredField('date', 'Time of the last update.', '2026-11-21T07:03:00.044Z', { optional: true })
  readonly updatedAt!: Date;

  @StoredField('exact', 'Name of the odds provider.', 'Northbook')
  readonly provider!: string;

  @StoredField('text', 'Display name of the market.', 'Over/Under 2.5')
  readonly name!: string;

  @StoredField('exact', "Provider's market identifier.", 'nb-1001-ou25')
  readonly marketId!: string;

  @StoredField('exact', "Provider's event id.", 'nb-1001')
  readonly eventId!: string;

  @StoredField('text', 'Whether the market is offered before or during the event.', 'live', {
    values: MARKET_MOMENTS,
  })
  readonly marketMoment!: MarketMoment;

  @StoredField('exact', 'State of the market, such as `OPEN` or `SUSPENDED`.', 'OPEN')
  readonly marketStatus!: string;

  @StoredField('text', 'What the market is about.', 'OVER_UNDER', { values: MARKET_TYPES })
  readonly marketType!: MarketType;

  @StoredField('list', 'The selections of the market with their prices.', [], { of: Runner })
  readonly runners!: Runner[];

  @StoredField('exact', "The service's own fixture id.", 'demo-fixture-1')
  readonly fixtureId!: string;
}

export const MarketSchema = storedSchema(Market, {
  collection: MARKETS,
  versionKey: false,
  timestamps: true,
});

/** Mongoose's schema of a class of stored fields. */
function storedSchema<T extends object>(type: new () => T, options: SchemaOptions): Schema<T> {
  const fields = listFields(type).filter(({ kind }) => kind !== 'objectId');
  const definition = Object.fromEntries(fields.map((field) => [field.name, storage(field)]));
  return new Schema<T>(definition, options as object);
}

function storage({ kind, of, optional, values }: StoredFieldRule) {
  if (kind === 'list' && of) {
    const element = storedSchema(of, { _id: false, versionKey: false });
    return { type: [element], required: true };
  }
  const type = { price: Number, date: Date }[kind as string] ?? String;
  return { type, required: !optional, ...(values && { enum: [...values] }) };
}

/** What makes two records the same market. */
export const MARKET_IDENTITY = ['provider', 'eventId', 'marketId'] as const;

// `provider` is last: otherwise MongoDB would at times choose this index for a look-up by provider, and fetch too much.
MarketSchema.index(
  { marketId: 1, eventId: 1, provider: 1 },
  { unique: true, name: 'market_identity' },
);

/** The fields that a query may filter by, in their order in the indexes. Memory can judge declared fields alone. */
export const FILTERED_FIELDS = [
  'provider',
  'marketMoment',
  'marketStatus',
  'marketType',
] as const satisfies readonly (keyof Market)[];
export type FilteredField = (typeof FILTERED_FIELDS)[number];

// `_id` right after the look-up's id gives the order of the answer without a sort; the filters behind it are
// judged on the index's own keys, so that only what is on the page is fetched, and counting fetches nothing.
for (const field of SCOPE_FIELDS satisfies readonly (keyof Market)[]) {
  const filters = Object.fromEntries(FILTERED_FIELDS.map((name) => [name, 1 as const]));
  MarketSchema.index({ [field]: 1, _id: 1, ...filters }, { name: `${field}_page` });
}
