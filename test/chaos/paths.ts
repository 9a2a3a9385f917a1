/** A look-up of an id: one that nobody has costs MongoDB little. */
export function lookUp(id: string | number = 'event'): string {
  return `/v1/markets/market/provider/${id}`;
}
