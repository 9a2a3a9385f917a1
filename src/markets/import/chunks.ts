/** The bytes of a file, piece by piece. */
export type Chunks = AsyncIterable<Buffer>;

/** The same bytes, the first chunk of which has at least `length` of them unless there are fewer. */
export async function* withHead(chunks: Chunks, length: number): Chunks {
  let head: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of chunks) {
    if (!head) {
      yield chunk;
      continue;
    }
    head = Buffer.concat([head, chunk]);
    if (head.length < length) continue;
    yield head;
    head = undefined;
  }
  if (head) yield head;
}

export function startsWith(chunk: Buffer, prefix: Buffer): boolean {
  return chunk.subarray(0, prefix.length).equals(prefix);
}
