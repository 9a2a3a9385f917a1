import { setTimeout as delay } from 'node:timers/promises';
import { onMember, primaryOf } from '../../../test/mongo-admin.js';
import { startServer, type ServerProcess } from '../../../test/server-process.js';
import type { Stage } from '../../scale/stage.js';

const AWAY_MS = 2_000;

/** A replica of the service on a port that it keeps. */
export class Replica {
  private process: ServerProcess | undefined;

  constructor(
    private readonly uri: string,
    readonly port: number,
  ) {}

  async start(): Promise<void> {
    this.process = await startServer({ MONGODB_URI: this.uri, PORT: String(this.port) });
  }

  async stop(signal?: NodeJS.Signals): Promise<void> {
    await this.process?.stop(signal);
  }

  async restart(signal: NodeJS.Signals): Promise<void> {
    await this.stop(signal);
    await delay(AWAY_MS);
    await this.start();
  }
}

export type Fault = () => Promise<void>;

/** What goes wrong, one after the other, again and again. */
export function faultsOf({ mongod }: Stage, [one, other]: readonly Replica[]): readonly Fault[] {
  const stopPrimary = async () => {
    const index = await primaryOf(mongod);
    await mongod.kill('SIGSTOP', index);
    await delay(2 * AWAY_MS);
    await mongod.kill('SIGCONT', index);
  };
  const stepDown = async () => {
    const command = { replSetStepDown: 10, secondaryCatchUpPeriodSecs: 2, force: true };
    await onMember(mongod, await primaryOf(mongod), (client) =>
      client.db('admin').command(command),
    );
  };
  const killPrimary = async () => {
    const index = await primaryOf(mongod);
    await mongod.kill('SIGKILL', index);
    await delay(AWAY_MS);
    await mongod.restart(index);
  };
  return [
    async () => one?.restart('SIGKILL'),
    stepDown,
    async () => other?.restart('SIGTERM'),
    stopPrimary,
    killPrimary,
  ];
}
