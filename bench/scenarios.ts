import type { Workload } from './workloads.js';

export interface Scenario {
  readonly name: string;
  readonly workload: Workload;
  /** Whether each client remembers the ETag of each URL, and sends it. */
  readonly conditional: boolean;
  readonly changesPerSecond: number;
}

const CHANGES_PER_SECOND = 500;

export const COLD: Scenario = {
  name: 'cold',
  workload: 'cold',
  conditional: false,
  changesPerSecond: 0,
};

export const HOT: Scenario = { ...COLD, name: 'hot', workload: 'hot' };

export const HOT_CHANGING: Scenario = {
  ...HOT,
  name: `hot, ${CHANGES_PER_SECOND} changes/s`,
  changesPerSecond: CHANGES_PER_SECOND,
};

export const HOT_CONDITIONAL: Scenario = {
  ...HOT_CHANGING,
  name: `${HOT_CHANGING.name}, If-None-Match`,
  conditional: true,
};

export const SCENARIOS = [COLD, HOT, HOT_CHANGING, HOT_CONDITIONAL];
