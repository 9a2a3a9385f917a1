import { Long, type Db, type Document, type ReadPreference } from 'mongodb';

/** A kill that is not answered by then is given up, so that it holds no connection. Milliseconds. */
const KILL_CURSOR_WITHIN_MS = 1_000;

/** A cursor as a reply describes it. The driver's own cursor would take a quarter of the time of a short read. */
export type RawCursor = Document;

/** Whether there is more to be read. */
export function isOpen({ id }: RawCursor): boolean {
  return String(id) !== '0';
}

/** The command that reads on. */
export function getMoreOf({ id, ns }: RawCursor): Document {
  return { getMore: longOf(id), collection: collectionOf(ns) };
}

/** Frees a cursor, if it is not read to its end. Nobody waits for it: a server that hangs would take long. */
export function killCursor(db: Db, cursor: RawCursor, readPreference?: ReadPreference): void {
  if (!isOpen(cursor)) return;
  const command = { killCursors: collectionOf(cursor['ns']), cursors: [longOf(cursor['id'])] };
  const signal = AbortSignal.timeout(KILL_CURSOR_WITHIN_MS);
  db.command(command, { signal, readPreference }).catch(() => undefined);
}

/** The driver makes a number of a small Long, which the server would not take back. */
function longOf(id: unknown): Long {
  return Long.fromString(String(id));
}

function collectionOf(namespace: string): string {
  return namespace.slice(namespace.indexOf('.') + 1);
}
