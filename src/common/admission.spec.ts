import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Response } from 'express';
import { EventEmitter } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Admission, ADMISSION } from './admission.js';
import type { ApiRequest } from './api-request.js';

const LOOKUP = '/v1/markets/market/fixture/x';

let served: Response[];
let refused: Response[];
let admission: Admission;

beforeEach(() => {
  served = [];
  refused = [];
  admission = new Admission(
    (_request, response) => served.push(response),
    (_request, response) => refused.push(response),
  );
});

function arrive(count: number, url = LOOKUP): void {
  for (let arrived = 0; arrived < count; arrived++) {
    const response = Object.assign(new EventEmitter(), { socket: {} });
    admission.enter({ url } as ApiRequest, response as unknown as Response);
  }
}

async function untilServed(count: number): Promise<void> {
  while (served.length < count) await nextTurn();
}

/** Holds the event loop up. */
function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
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
    admission = new Admission(
      (_request, response) => {
        served.push(response);
        block(2);
        response.emit('ended');
      },
      () => undefined,
    );
    arrive(50);
    expect(served.length).toBeLessThan(5);
    await nextTurn();
    expect(served.length).toBeLessThan(30);
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
    while (refused.length === 0) await nextTurn();
    expect(served).toHaveLength(ADMISSION.underWay);
  });

  it('serves what came early on a connection once it has the socket, and refuses what is too much', async () => {
    const socket = {};
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
