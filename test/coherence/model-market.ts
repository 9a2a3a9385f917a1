import { ObjectId } from 'mongodb';

/** A market as the checker knows it. Everything else in its document follows from these and never changes. */
export interface ModelMarket {
  readonly id: string | number | ObjectId;
  /** Grows with each write, and shows in the answer: name, price and time of update. */
  readonly version: number;
  readonly eventId: string | readonly string[];
  readonly fixtureId: string;
  readonly marketMoment: string;
  readonly marketType: string;
}

const CREATED_AT = new Date('2026-11-21T07:03:00.044Z');

/** What is stored for a market. */
export function storedForm(market: ModelMarket) {
  const { id, eventId, fixtureId, marketMoment, marketType } = market;
  return {
    _id: id,
    provider: 'Northbook',
    marketId: `market-${String(id)}`,
    eventId: typeof eventId === 'string' ? eventId : [...eventId],
    fixtureId,
    marketMoment,
    marketStatus: 'OPEN',
    marketType,
    createdAt: CREATED_AT,
    note: 'a field that is not served',
    ...versionFields(market),
  };
}

/** The stored fields that tell the version. */
export function versionFields({ id, version }: ModelMarket) {
  return {
    name: `${String(id)} v${version}`,
    updatedAt: new Date(CREATED_AT.getTime() + version),
    runners: [
      { runnerId: 'over', name: 'Over 2.5', price: 1 + version / 1_000, line: '2.5' },
      { runnerId: 'under', name: 'Under 2.5', price: 2 + version / 1_000 },
    ],
  };
}

const shownForms = new WeakMap<ModelMarket, string>();

/** What an answer must show for a market, in a form to compare. */
export function shownForm(market: ModelMarket): string {
  let shown = shownForms.get(market);
  if (shown === undefined) {
    const { note: _, eventId, createdAt, updatedAt, ...rest } = storedForm(market);
    shown = comparable({
      ...rest,
      _id: String(market.id),
      // A value of another type than the field's is left out.
      ...(typeof eventId === 'string' && { eventId }),
      createdAt: createdAt.toISOString(),
      updatedAt: updatedAt.toISOString(),
    });
    shownForms.set(market, shown);
  }
  return shown;
}

/** A JSON value as text that does not depend on the order of names. */
export function comparable(value: unknown): string {
  return JSON.stringify(value, (_name, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** MongoDB's order of ids: numbers, then strings by their UTF-8 bytes, then ObjectIds. */
export function byId({ id: one }: ModelMarket, { id: other }: ModelMarket): number {
  const ranks = [one, other].map((id) => ['number', 'string', 'object'].indexOf(typeof id));
  if (ranks[0] !== ranks[1]) return Number(ranks[0]) - Number(ranks[1]);
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  return Buffer.compare(Buffer.from(String(one)), Buffer.from(String(other)));
}

/** Which look-up: `event:<id>` or `fixture:<id>`. */
export type ScopeName = `${'event' | 'fixture'}:${string}`;

export function scopesOf({ eventId, fixtureId }: ModelMarket): ScopeName[] {
  const events = [eventId].flat().map((id) => `event:${id}` as const);
  return [...events, `fixture:${fixtureId}`];
}
