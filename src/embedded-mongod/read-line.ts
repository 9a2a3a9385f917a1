import type { Socket } from 'node:net';

/** The first line that comes; undefined when the socket closes before. What comes later is dropped. */
export async function readLine(socket: Socket): Promise<string | undefined> {
  return new Promise((resolve) => {
    let text = '';
    const take = (chunk: string) => {
      text += chunk;
      const end = text.indexOf('\n');
      if (end < 0) return;
      socket.off('data', take);
      resolve(text.slice(0, end));
    };
    socket.setEncoding('utf8').on('data', take);
    socket.once('close', () => resolve(undefined));
  });
}
