/** The content in memory of its own: a piece of Node's buffer pool would keep up to 64 kB alive. */
export function ownBuffer(content: string | Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(Buffer.byteLength(content));
  if (typeof content === 'string') own.write(content);
  else content.copy(own);
  return own;
}
