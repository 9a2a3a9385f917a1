/** What a client that is a process of its own is told to do, and what comes of it. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

type Reply<Result> = { readonly result: Result } | { readonly failure: string };

/** Gives a child an order, one at a time; resolves with its result. */
export async function order<Result>(child: ChildProcess, what: object | string): Promise<Result> {
  const answered = once(child, 'message');
  child.send(what);
  const [reply] = (await answered) as [Reply<Result>];
  if ('failure' in reply) throw new Error(reply.failure);
  return reply.result;
}

/** In the child: carries out each order of the parent, and ends with it. */
export function obey(carryOut: (what: never) => Promise<unknown>): void {
  process.on('message', (what) => {
    carryOut(what as never).then(
      (result) => process.send?.({ result }),
      (error: Error) => process.send?.({ failure: error.message }),
    );
  });
  process.on('disconnect', () => process.exit(0));
}
