/** What `npm test` has built is fresh: `npm start` and `npm run cli` take it as it is. */
export async function markBuilt(): Promise<void> {
  const script = new URL('../scripts/build-if-stale.js', import.meta.url).href;
  const { markBuilt: mark } = (await import(script)) as { markBuilt: () => void };
  mark();
}
