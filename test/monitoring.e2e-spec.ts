import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { REFUSALS } from '../src/api-keys/key-verifier.js';
import { LATE_REASONS } from '../src/change-feed/feed-progress.js';
import { DRIVER_OPTIONS } from '../src/database/driver-options.js';
import { PROBLEMS } from '../src/http/problem-codes.js';
import { createTestApp, type TestApp } from './app.js';
import { panels, rules } from './monitoring-files.js';

const expressions = [
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
  ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const)),
];

/** Made by Prometheus at each scrape. */
const OF_PROMETHEUS = { metrics: ['up'], labels: ['job', 'instance'] };

const WORDS = new Set(['by', 'on', 'and', 'or', 'unless', 'without', 'ignoring', 'bool']);

/** What an expression of PromQL names. */
function namesIn(expression: string): { metrics: string[]; labels: string[] } {
  const plain = expression.replaceAll(/"[^"]*"/g, '""').replaceAll(/\[[^\]]*\]/g, '');
  const matchers = [...plain.matchAll(/\{([^}]*)\}/g)].flatMap(([, list = '']) =>
    [...list.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, name = '']) => name),
  );
  const lists = [...plain.matchAll(/\b(?:by|on)\s*\(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(',').map((name) => name.trim()),
  );
  const rest = plain.replaceAll(/\{[^}]*\}/g, '').replaceAll(/\b(?:by|on)\s*\([^)]*\)/g, '');
  const metrics = [...rest.matchAll(/\b([a-z]\w*)\b(?!\s*\()/g)]
    .map(([, name = '']) => name)
    .filter((name) => !WORDS.has(name));
  return { metrics, labels: [...matchers, ...lists] };
}

/** The name of the histogram that a figure is of. */
const whole = (name: string) => name.replace(/_(bucket|sum|count)$/, '');

let service: TestApp;
let metricNames: Set<string>;
/** Of our own, with figures or without; a histogram has one name. */
let ownMetrics: string[];
let labelNames: Set<string>;
let labelValues: Set<string>;
/** The bounds of histograms, such as `a_seconds_bucket 0.25`. */
let bounds: Set<string>;

beforeAll(async () => {
  service = await createTestApp();
  await service.get('/v1/markets/market/fixture/x').expect(200);
  await service.getOpen('/health/live').expect(200);
  const { text } = await service.getOpen('/metrics').expect(200);
  const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  ownMetrics = [...text.matchAll(/^# TYPE (?!process_|nodejs_)(\w+)/gm)].map(
    ([, name = '']) => name,
  );
  metricNames = new Set(samples.map((line) => line.replace(/[{ ].*/, '')));
  labelNames = new Set([...text.matchAll(/[{,](\w+)="/g)].map(([, name = '']) => name));
  labelValues = new Set([...text.matchAll(/\w+="[^"]*"/g)].map(([value]) => value));
  const buckets = text.matchAll(/^(\w+_bucket)\{.*?\ble="([^"]*)"/gm);
  bounds = new Set([...buckets].map(([, name, bound]) => `${name} ${bound}`));
});

afterAll(async () => {
  await service.close();
});

it('the reader of expressions finds metrics and labels', () => {
  expect(
    namesIn(
      'sum by (job, le) (rate(a_bucket{x=~"y",z="b{"}[5m])) / b > 0.1 and on (instance) c == 1e3',
    ),
  ).toEqual({ metrics: ['a_bucket', 'b', 'c'], labels: ['x', 'z', 'job', 'le', 'instance'] });
});

describe('alert rules and dashboard', () => {
  it.each(expressions)('name only what is at /metrics: %s', (_where, expression) => {
    const { metrics, labels } = namesIn(expression);
    const missing = {
      metrics: metrics.filter(
        (name) => !metricNames.has(name) && !OF_PROMETHEUS.metrics.includes(name),
      ),
      labels: labels.filter(
        (name) => !labelNames.has(name) && !OF_PROMETHEUS.labels.includes(name),
      ),
    };
    expect(metrics).not.toEqual([]);
    expect(missing).toEqual({ metrics: [], labels: [] });
  });

  it('ask for labels by values that they have', () => {
    const asked = expressions.flatMap(([, expression]) =>
      [...expression.matchAll(/(\w+)!?=("[^"]*")/g)].map(([, name, value]) => `${name}=${value}`),
    );
    expect(asked).toEqual(expect.arrayContaining(['reason="late"']));
    expect(asked.filter((value) => !labelValues.has(value))).toEqual([]);
  });

  it('mean the routes of the API where they ask for some', () => {
    const patterns = expressions.flatMap(([, expression]) =>
      [...expression.matchAll(/\broute=~"([^"]*)"/g)].map(([, pattern]) => pattern),
    );
    expect(patterns).not.toEqual([]);
    const routes = [...labelValues].filter((value) => value.startsWith('route='));
    const ofApi = routes.filter((route) => route.includes('/markets/'));
    expect(ofApi.length).toBeLessThan(routes.length);
    for (const pattern of patterns)
      expect(routes.filter((route) => RegExp(`^route="(?:${pattern})"$`).test(route))).toEqual(
        ofApi,
      );
  });

  it('count as failed what the service fails at, and all of that', () => {
    const statuses = Object.values(PROBLEMS).map(({ status }) => status);
    const asked = expressions.flatMap(([, expression]) =>
      [...expression.matchAll(/\bstatus=~"([^"]*)"/g)].map(([, pattern]) => pattern),
    );
    expect(asked).not.toEqual([]);
    for (const pattern of asked) {
      const failed = statuses.filter((status) => RegExp(`^(?:${pattern})$`).test(String(status)));
      expect(failed).toEqual(statuses.filter((status) => status >= 500));
    }
  });

  it('show every metric of our own', () => {
    const named = expressions.flatMap(([, expression]) => namesIn(expression).metrics).map(whole);
    expect(ownMetrics.filter((name) => !named.includes(name))).toEqual([]);
  });

  it('have figures to ask for: each metric of our own has a zero from the start', () => {
    const withFigures = [...metricNames].map(whole);
    expect(ownMetrics.filter((name) => !withFigures.includes(name))).toEqual([]);
  });
});

/** In Grafana's words, by what an expression asks for; other figures are counts and rates. */
const UNITS = [
  [/ \/ /, 'percentunit'],
  [/_seconds(?:_bucket)?\b/, 's'],
  [/_bytes\b/, 'bytes'],
] as const;

it('the panels of the dashboard have an id each', () => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
});

it('the panels of the dashboard are in the units of their figures', () => {
  const shown = panels.flatMap(({ title, targets = [], fieldConfig }) =>
    targets.map(({ expr }) => ({ title, expr, unit: fieldConfig?.defaults.unit })),
  );
  const units = shown.map(({ expr, unit, ...panel }) => {
    const [, meant = unit] = UNITS.find(([pattern]) => pattern.test(expr)) ?? [];
    return { ...panel, unit: meant };
  });
  expect(shown.map(({ title, unit }) => ({ title, unit }))).toEqual(units);
});

it('the panels of the dashboard name each quantile as it is', () => {
  const quantiles = panels
    .flatMap(({ targets = [] }) => targets)
    .map(({ expr, legendFormat }) => [
      /^histogram_quantile\(([\d.]+)/.exec(expr)?.[1],
      legendFormat,
    ])
    .filter(([quantile]) => quantile !== undefined);
  expect(quantiles.length).toBeGreaterThan(2);
  expect(quantiles.map(([, name]) => name)).toEqual(
    quantiles.map(([quantile]) => `p${Math.round(100 * Number(quantile))}`),
  );
});

describe('alert rules', () => {
  it('compare quantiles with bounds of their histograms, between which they are guessed', () => {
    const compared = rules.flatMap(({ expr }) =>
      [...expr.matchAll(/histogram_quantile.*?(\w+_bucket).* > ([\d.]+)/gs)].map(
        ([, name, bound]) => `${name} ${bound}`,
      ),
    );
    expect(compared.length).toBeGreaterThan(1);
    expect(compared.filter((bound) => !bounds.has(bound))).toEqual([]);
  });

  it.each(rules.map((rule) => [rule.alert, rule] as const))(
    '%s says how grave it is, what happened and where to read on',
    (alert, { annotations, for: duration, labels }) => {
      expect(duration).toMatch(/^\d+[sm]$/);
      expect(['critical', 'warning', 'info']).toContain(labels['severity']);
      expect(annotations['summary']).toMatch(/\S \S/);
      expect(annotations['description']).toMatch(/\S \S/);
      expect(annotations['runbook_url']).toBe(`docs/operations.md#${alert.toLowerCase()}`);
    },
  );

  it.each(rules.map((rule) => [rule.alert, rule.expr] as const))(
    '%s is about jobs of this service alone',
    (_alert, expr) => {
      // What is joined by instance can only narrow it down.
      const { metrics } = namesIn(expr.replaceAll(/and on \(instance\) \w+/g, ''));
      const ofOurJobs = [...expr.matchAll(/(\w+)\{job=~"markets-odds\.\*"/g)];
      expect(ofOurJobs.map(([, name]) => name)).toEqual(metrics);
    },
  );
});

const GUIDE = 'docs/operations.md';

describe('the guide for operators', () => {
  it('has a section for each alert', () => {
    const headings = readFileSync(GUIDE, 'utf8').matchAll(/^#+ `?(\w+)`?$/gm);
    const titles = [...headings].map(([, title]) => title);
    expect(titles).toEqual(expect.arrayContaining(rules.map(({ alert }) => alert)));
  });

  const failures = Object.entries(PROBLEMS).filter(([, { status }]) => status >= 500);

  it.each([
    ['MarketsOddsFailing', failures.map(([code]) => code)],
    ['MarketsOddsKeysRefused', ['none', 'empty', ...REFUSALS]],
    ['MarketsOddsChangeFeedLate', LATE_REASONS],
  ])('says of %s what each reason means', (alert, reasons) => {
    const [, rest = ''] = readFileSync(GUIDE, 'utf8').split(`### ${alert}\n`);
    const [section = ''] = rest.split('\n### ');
    expect(reasons.filter((reason) => !section.includes(`\`${reason}\``))).toEqual([]);
  });

  it('says how many connections a process has', () => {
    const { maxPoolSize } = DRIVER_OPTIONS;
    expect(readFileSync(GUIDE, 'utf8')).toContain(`Each process has ${maxPoolSize} connections.`);
    expect(readFileSync('docs/scaling.md', 'utf8')).toContain(`N × (${maxPoolSize} at most`);
  });
});
