import { describe, expect, it } from '@jest/globals';
import { dashboard, panels, rules } from './monitoring-files.js';
import { readYaml } from './read-yaml.js';

const targets = panels.flatMap(({ targets: all = [] }) => all);

const expressions = [...rules, ...targets].map(({ expr }) => expr);

const ruleOf = (name: string) => rules.find(({ alert }) => alert === name)?.expr ?? '';

const seconds = (text = '') => Number.parseInt(text) * (text.endsWith('m') ? 60 : 1);

/** An expression without what stands in brackets, or in quotes. */
function outside(expr: string): string {
  let plain = expr.replaceAll(/"[^"]*"/g, '');
  while (/\([^()]*\)/.test(plain)) plain = plain.replaceAll(/\([^()]*\)/g, '');
  return plain;
}

describe('rules', () => {
  it('look back over several scrapes', () => {
    const monitor = readYaml('deploy/kubernetes/prometheus/pod-monitor.yaml') as {
      spec: { podMetricsEndpoints: [{ interval: string }] };
    };
    const [{ interval }] = monitor.spec.podMetricsEndpoints;
    const backs = expressions.flatMap((expr) =>
      [...expr.matchAll(/\[(\d+[sm])\]/g)].map(([, back]) => seconds(back)),
    );
    expect(4 * seconds(interval)).toBeLessThanOrEqual(Math.min(...backs));
  });

  it.each(rules)('$alert divides by one thing, and by sums of the same labels', ({ expr }) => {
    expect(outside(expr)).not.toContain('+');
    const divided = expr.split(' / ').map((part) => /\bsum\b( by \([^)]*\))?/.exec(part)?.[1]);
    expect(new Set(divided).size).toBe(1);
    expect(expr).not.toMatch(/\bsum\b(?! by \(job\b)/);
  });

  it('tell of one request in a hundred where they tell how long it takes', () => {
    const quantiles = rules.flatMap(({ expr }) => [
      ...expr.matchAll(/histogram_quantile\(([\d.]+)/g),
    ]);
    expect(new Set(quantiles.map(([, quantile]) => quantile))).toEqual(new Set(['0.99']));
  });

  it('mean what they say', () => {
    const shares = ['MarketsOddsFilesUsedUp', 'MarketsOddsMemoryOfLittleUse'].map((name) =>
      [...ruleOf(name).matchAll(/(\w+)\{/g)].map(([, metric]) => metric),
    );
    expect(shares[0]).toEqual(['process_open_fds', 'process_max_fds']);
    expect(shares[1]?.[0]).toBe('markets_cache_hits_total');
    expect(ruleOf('MarketsOddsRedisAway')).toMatch(/ == 1$/);
    expect(ruleOf('MarketsOddsCoreUsedUp')).toContain(' or nodejs_eventloop_lag');
    // Who sends no key guesses none.
    expect(ruleOf('MarketsOddsKeysRefused')).toContain('reason!="none"');
  });
});

it.each(expressions)('%s reads counters by how they grow', (expr) => {
  const counters = [...expr.matchAll(/(\w*\()?\b\w+_(?:total|bucket|sum|count)\{/g)];
  expect(
    counters.map(([, by]) => by ?? '').filter((by) => !/^(rate|increase)\($/.test(by)),
  ).toEqual([]);
});

describe('the dashboard', () => {
  it('asks the source that is chosen, and chooses among metrics that there are', () => {
    const sources = [...dashboard.matchAll(/"uid": "(\$[^"]*)"/g)].map(([, uid]) => uid);
    expect(new Set(sources)).toEqual(new Set(['${datasource}']));
    const known = expressions.flatMap((expr) => [...expr.matchAll(/\b(\w+)\{/g)]);
    const asked = [...dashboard.matchAll(/label_values\((\w+)/g)].map(([, name]) => name);
    expect(asked).toHaveLength(2);
    expect(known.map(([, name]) => name)).toEqual(expect.arrayContaining(asked));
  });

  it.each(targets)(
    '$expr is of the chosen instances, and its legend tells its labels',
    (target) => {
      const { expr, legendFormat } = target;
      for (const [labels] of expr.matchAll(/\{[^}]*\}/g))
        expect(labels).toMatch(/^\{job=~"\$job",instance=~"\$instance"/);
      const by = /\b(?:sum|max|min|avg|count) by \(([^)]*)\)/.exec(expr)?.[1]?.split(', ');
      const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, name]) => name);
      expect(by ?? ['instance']).toEqual(expect.arrayContaining(named));
    },
  );
});
