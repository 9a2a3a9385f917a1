/** A look-up that MongoDB answers quickly: nobody has this id. */
export const PATH = '/v1/markets/market/provider/event';
