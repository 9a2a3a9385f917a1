import { readFileSync } from 'node:fs';
import { readYaml } from './read-yaml.js';

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>> & { readonly summary: string };
}

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

const alerts = readYaml('deploy/prometheus/alerts.yml') as { groups: { rules: AlertRule[] }[] };

export const rules = alerts.groups.flatMap((group) => group.rules);

/** The whole dashboard, as JSON. */
export const dashboard = readFileSync('deploy/grafana/dashboard.json', 'utf8');

export const { panels } = JSON.parse(dashboard) as { panels: readonly Panel[] };
