/** Compares strings exactly, whatever a collection's own collation is. */
export const EXACT_COLLATION = { locale: 'simple' } as const;
