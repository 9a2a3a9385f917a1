import type { Contender } from './contenders.js';
import type { Form } from './request-form.js';
import type { Workload } from './workloads.js';

export interface Scenario {
  readonly name: string;
  readonly workload: Workload;
  /** Whether each client remembers the ETag of each URL, and sends it. */
  readonly conditional: boolean;
  readonly changesPerSecond: number;
  /** How it is asked, if otherwise than usual. */
  readonly form?: Form;
  /** Unset: all of them. */
  readonly contenders?: readonly Contender[];
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

/** Without the contenders that answer all forms alike. */
const inForm = (form: Form): Scenario => ({
  ...HOT_CHANGING,
  name: `${HOT_CHANGING.name}, ${form}`,
  form,
  contenders: ['service', 'bare driver'],
});

export const HOT_COMPRESSED = inForm('compressed');

export const SCENARIOS = [
  COLD,
  HOT,
  HOT_CHANGING,
  // Beside the one that it is compared with.
  HOT_COMPRESSED,
  HOT_CONDITIONAL,
  inForm('HEAD'),
  inForm('key in the query'),
];
