import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Response } from 'express';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Admission, ADMISSION } from './admission.js';
import type { ApiRequest } from '../api-request.js';

const LOOKUP = '/v1/markets/market/fixture/x';

let served: Response[];
let refused: Response[];
let left: Response[];
let admission: Admission;

beforeEach(() => {
  // The admission of an earlier test may still have its turn.
  const mine = { served: [] as Response[], refused: [] as Response[], left: [] as Response[] };
  ({ served, refused, left } = mine);
  admission = new Admission(
    (_request, response) => mine.served.push(response),
    (_request, response) => mine.refused.push(response),
    (_request, response) => mine.left.push(response),
  );
});

function arrive(count: number, url = LOOKUP): Response[] {
  return Array.from({ length: count }, () => ask(aConnection(), url));
}

function ask(socket: Socket, url = LOOKUP): Response {
  const response = Object.assign(new EventEmitter(), { socket });
  admission.enter({ url, socket } as ApiRequest, response as unknown as Response);
  return response as unknown as Response;
}

/** Read, as the server's are, until somebody says otherwise. */
function aConnection(): Socket {
  return new Duplex({ read: () => undefined }).resume() as Socket;
}

/** Once: it may be ended again among all that were served. */
function end(response: Response | undefined): void {
  response?.emit('ended');
  response?.emit('close');
  response?.removeAllListeners();
}

async function until(isSo: () => boolean): Promise<void> {
  const givesUpAt = performance.now() + 3_000;
  while (!isSo()) {
    if (performance.now() > givesUpAt) throw new Error('It never came to it');
    await nextTurn();
  }
}

/** Ends what is served, one after the other. */
const endOthersUntil = (isSo: () => boolean) =>
  until(() => {
    end(served.shift());
    return isSo();
  });

const untilServed = (count: number) => until(() => served.length >= count);

/** Holds the event loop up. */
function block(ms: number): void {
  const endsAt = performance.now() + ms;
  while (performance.now() < endsAt);
}

describe('Admission', () => {
  it('serves at once while there is room', () => {
    arrive(1);
    expect(served).toHaveLength(1);
  });

  it('works on so many at once, lets others wait, and refuses the rest at once', async () => {
    arrive(ADMISSION.underWay);
    await untilServed(ADMISSION.underWay);
    arrive(ADMISSION.burst);
    expect(refused).toHaveLength(0);
    arrive(5);
    expect(refused).toHaveLength(5);
    await nextTurn();
    expect(served).toHaveLength(ADMISSION.underWay);
  });

  it.each(['ended', 'close'])(
    'goes on when an answer is over (%s), counting it once',
    async (event) => {
      arrive(ADMISSION.underWay + 2);
      await untilServed(ADMISSION.underWay);
      const first = served[0];
      first?.emit(event);
      first?.emit('close');
      await untilServed(ADMISSION.underWay + 1);
      await nextTurn();
      await nextTurn();
      expect(served).toHaveLength(ADMISSION.underWay + 1);
    },
  );

  it('never refuses a probe', async () => {
    arrive(ADMISSION.underWay);
    await untilServed(ADMISSION.underWay);
    arrive(ADMISSION.burst + 1);
    for (const probe of ['/health/live', '/health/ready', '/metrics', '/metrics?x=1']) {
      arrive(1, probe);
    }
    expect(refused).toHaveLength(1);
    expect(served).toHaveLength(ADMISSION.underWay + 4);
  });

  it('looks who else has come before it works for long', async () => {
    const mine = served;
    admission = new Admission(
      (_request, response) => {
        mine.push(response);
        block(2);
        response.emit('ended');
      },
      () => undefined,
      () => undefined,
    );
    arrive(50);
    expect(served.length).toBeLessThan(5);
    await nextTurn();
    expect(served.length).toBeLessThan(5 + ADMISSION.longestStretchMs / 2);
    await untilServed(50);
  });

  it('serves a crowd that came during a pause', async () => {
    block(150);
    arrive(200);
    await untilServed(ADMISSION.underWay);
    for (let over = 0; over < 200; over++) {
      served[over]?.emit('ended');
      await nextTurn();
    }
    expect(refused).toHaveLength(0);
    expect(served).toHaveLength(200);
  });

  it('refuses what has waited too long to be of use', async () => {
    arrive(ADMISSION.underWay + 1);
    await untilServed(ADMISSION.underWay);
    block(ADMISSION.longestWaitMs + 1);
    served[0]?.emit('ended');
    await until(() => refused.length > 0);
    expect(served).toHaveLength(ADMISSION.underWay);
  });

  it('does nothing for who has left', async () => {
    arrive(ADMISSION.underWay);
    await untilServed(ADMISSION.underWay);
    const [leaves, stays] = arrive(2);
    leaves?.socket?.end();
    await endOthersUntil(() => served.some((response) => response === stays));
    expect(left).toEqual([leaves]);
    expect(served).not.toContain(leaves);
    expect(refused).toHaveLength(0);
  });

  it('lets fewer wait where callers leave', async () => {
    arrive(ADMISSION.underWay + 100);
    await untilServed(ADMISSION.underWay);
    const impatient = arrive(100);
    arrive(200);
    for (const { socket } of impatient) socket?.end();
    block(ADMISSION.periodMs);
    await endOthersUntil(() => left.length === impatient.length);
    // By what it serves, 200 may wait.
    arrive(1);
    block(ADMISSION.periodMs);
    arrive(1);
    expect(refused).toHaveLength(1);
  });

  describe('while many wait', () => {
    let connection: Socket;

    beforeEach(async () => {
      connection = aConnection();
      const first = ask(connection);
      arrive(ADMISSION.underWay + ADMISSION.always - 1);
      await untilServed(ADMISSION.underWay);
      end(first);
    });

    it('does not read a connection again before all who came earlier are served', async () => {
      arrive(1);
      expect(connection.isPaused()).toBe(true);
      for (let over = 1; over < ADMISSION.always; over++) {
        end(served[over]);
        await untilServed(over + ADMISSION.underWay);
        expect(connection.isPaused()).toBe(true);
      }
      end(served[ADMISSION.always]);
      await untilServed(ADMISSION.always + ADMISSION.underWay + 1);
      expect(connection.isPaused()).toBe(false);
    });

    it('serves what is then read before those who came later', async () => {
      const later = arrive(ADMISSION.underWay);
      await endOthersUntil(() => !connection.isPaused());
      const next = ask(connection);
      await endOthersUntil(() => served.includes(next));
      expect(served).not.toContain(later.at(-1));
    });

    it('counts the time for which a connection was not read', async () => {
      block(ADMISSION.longestWaitMs + 1);
      await endOthersUntil(() => !connection.isPaused());
      const next = ask(connection);
      await endOthersUntil(() => refused.includes(next));
      expect(served).not.toContain(next);
    });

    it('leaves alone who is gone', () => {
      const response = served[1];
      response?.socket?.end();
      end(response);
      expect(response?.socket?.isPaused()).toBe(false);
    });
  });

  it.each([
    { lately: 0, refuses: 1 },
    { lately: 200, refuses: 0 },
  ])('refuses $refuses more of 300 who wait if it served $lately lately', async (each) => {
    arrive(ADMISSION.underWay + each.lately + 300);
    await untilServed(ADMISSION.underWay);
    for (let over = 0; over < each.lately; over++) {
      served[over]?.emit('ended');
      await untilServed(ADMISSION.underWay + over + 1);
    }
    block(ADMISSION.periodMs);
    arrive(1);
    expect(refused).toHaveLength(0);
    block(ADMISSION.periodMs);
    arrive(1);
    expect(refused).toHaveLength(each.refuses);
  });

  it('does not hear those for a while who make it refuse all the time', async () => {
    arrive(ADMISSION.underWay + ADMISSION.burst);
    await untilServed(ADMISSION.underWay);
    const [soon, late] = [aConnection(), aConnection()];
    await nextTurn();
    end(ask(soon));
    block(ADMISSION.stretchMs);
    ask(late);
    expect(refused).toHaveLength(2);
    await nextTurn();
    refused[1]?.emit('close');
    expect([soon.isPaused(), late.isPaused()]).toEqual([false, true]);
    await nextTurn();
    expect(late.isPaused()).toBe(true);
    await until(() => !late.isPaused());
  });

  it('serves what came early on a connection once it has the socket, and refuses what is too much', async () => {
    const socket = aConnection();
    const responses = Array.from({ length: ADMISSION.pipelined + 2 }, () => {
      const response = Object.assign(new EventEmitter(), { socket: null });
      admission.enter({ url: LOOKUP, socket } as ApiRequest, response as unknown as Response);
      return response;
    });
    expect(refused).toEqual(responses.slice(-2));
    await nextTurn();
    expect(served).toHaveLength(0);
    responses[0]?.emit('socket');
    await untilServed(1);
    const next = Object.assign(new EventEmitter(), { socket: null });
    admission.enter({ url: LOOKUP, socket } as ApiRequest, next as unknown as Response);
    expect(refused).toHaveLength(2);
  });
});
