/** The bytes of a file, piece by piece. */
export type Chunks = AsyncGenerator<Buffer, void>;

/** Bytes that decide what the content is. */
const HEAD_BYTES = 3;

/** Lets `read` decide by the first bytes how to read the whole: by three at least, unless there are fewer. */
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
