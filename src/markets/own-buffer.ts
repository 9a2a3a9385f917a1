/** The content in memory of its own: what is kept would keep alive the whole pool, of up to 64 kB, that Node shares out. */
export function ownBuffer(content: string | Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(Buffer.byteLength(content));
  if (typeof content === 'string') own.write(content);
  else content.copy(own);
  return own;
}
