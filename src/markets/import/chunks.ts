/** The bytes of a file, piece by piece. */
export type Chunks = AsyncGenerator<Buffer, void>;

/** The longest mark at the beginning of a file is the byte order mark of UTF-8; that of gzip has two bytes. */
const HEAD_BYTES = 3;

/** What `read` makes of the input. It gets the first three bytes, or all if there are fewer, and the whole input. */
export async function* readByHead(
  chunks: Chunks,
  read: (head: Buffer, whole: Chunks) => Chunks,
): Chunks {
  let head = Buffer.alloc(0);
  async function* whole(): Chunks {
    yield head;
    yield* chunks;
  }
  try {
    while (head.length < HEAD_BYTES) {
      const next = await chunks.next();
      if (next.done) break;
      head = Buffer.concat([head, next.value]);
    }
    yield* read(head, whole());
  } finally {
    void chunks.return();
  }
}
