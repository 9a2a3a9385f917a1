import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../src/config.js';
import { readYaml } from './read-yaml.js';

interface Probe {
  readonly timeoutSeconds: number;
  readonly periodSeconds: number;
  readonly failureThreshold: number;
}

interface Container {
  readonly image: string;
  readonly env: readonly { valueFrom: { secretKeyRef: { name: string } } }[];
  readonly envFrom: readonly object[];
  readonly securityContext: object;
  readonly resources: { readonly requests: { readonly cpu: string } };
  readonly livenessProbe: Probe;
  readonly startupProbe: Probe;
}

interface PodTemplate {
  readonly metadata: { readonly labels: object };
  readonly spec: {
    readonly containers: readonly [Container];
    readonly topologySpreadConstraints: readonly [{ labelSelector: { matchLabels: object } }];
  };
}

interface Kustomization {
  readonly images: readonly object[];
  readonly configMapGenerator: readonly [{ name: string; literals: readonly string[] }];
}

interface ComposeService {
  readonly environment: Readonly<Record<string, string | null>>;
  readonly volumes: readonly string[];
  readonly restart?: string;
  readonly depends_on?: object;
  readonly configs: readonly { target: string }[];
  readonly entrypoint: readonly string[];
}

const text = (file: string) => readFileSync(file, 'utf8');

/** How long it has to fail before something is done. */
const secondsOf = ({ periodSeconds, failureThreshold }: Probe) => periodSeconds * failureThreshold;

describe('Kubernetes', () => {
  const folder = 'deploy/kubernetes';
  const { spec } = readYaml(`${folder}/base/deployment.yaml`) as {
    spec: { template: PodTemplate; selector: { matchLabels: object } };
  };
  const { metadata, spec: pod } = spec.template;
  const job = readYaml(`${folder}/db-init/job.yaml`) as { spec: { template: PodTemplate } };
  const [server] = pod.containers;
  const [init] = job.spec.template.spec.containers;
  const base = readYaml(`${folder}/base/kustomization.yaml`) as Kustomization;

  it('objects know one another by their names', () => {
    const [{ name }] = base.configMapGenerator;
    expect(server.envFrom).toEqual([{ configMapRef: { name } }]);
    expect(base.images).toMatchObject([{ name: server.image }]);
    const ofInit = readYaml(`${folder}/db-init/kustomization.yaml`) as Kustomization;
    expect(ofInit.images).toMatchObject([{ name: init.image }]);
    const guide = text('docs/deployment.md');
    for (const { env } of [server, init])
      expect(guide).toContain(
        `create secret generic ${env[0]?.valueFrom.secretKeyRef.name} --from`,
      );
  });

  it('the Deployment and its spread mean its own pods', () => {
    const [{ labelSelector }] = pod.topologySpreadConstraints;
    for (const { matchLabels } of [spec.selector, labelSelector])
      expect(matchLabels).toEqual(metadata.labels);
  });

  it('gives settings values that the service takes', () => {
    const pairs = base.configMapGenerator[0].literals.map((literal) => literal.split('=', 2));
    expect(() => loadConfig(Object.fromEntries(pairs))).not.toThrow();
  });

  it('kills no pod that is busy, or takes its time to start', () => {
    expect(server.livenessProbe.timeoutSeconds).toBeGreaterThan(2.5);
    expect(secondsOf(server.livenessProbe)).toBeGreaterThanOrEqual(30);
    expect(secondsOf(server.startupProbe)).toBeGreaterThanOrEqual(30);
  });

  it('has more pods before a process has used its core up', () => {
    const { spec: scaler } = readYaml(`${folder}/base/autoscaler.yaml`) as {
      spec: { metrics: [{ resource: { target: { averageUtilization: number } } }] };
    };
    const [{ resource }] = scaler.metrics;
    const { cpu } = server.resources.requests;
    const cores = (Number.parseInt(cpu) / 1_000) * (resource.target.averageUtilization / 100);
    expect(cpu).toMatch(/^\d+m$/);
    expect(cores).toBeGreaterThan(0.3);
    expect(cores).toBeLessThan(0.8);
  });

  it('lets nothing write to its root, or have capabilities', () => {
    for (const { securityContext } of [server, init]) {
      expect(securityContext).toMatchObject({
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  });
});

describe('Compose', () => {
  const { services } = readYaml('docker-compose.yml') as {
    services: Readonly<Record<string, ComposeService>>;
  };
  const serviceOf = (name: string) => services[name] as ComposeService;

  it('keeps data where MongoDB has them, and comes back after a restart of the machine', () => {
    expect(serviceOf('mongo').volumes).toContain('mongo-data:/data/db');
    for (const name of ['markets', 'mongo']) expect(serviceOf(name).restart).toBe('unless-stopped');
  });

  it('lets nothing write to its root, or have capabilities', () => {
    for (const service of Object.values(services))
      expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
  });

  it('gives settings values that the service takes, and probes a port that is not published', () => {
    const { environment } = serviceOf('markets');
    const set = Object.entries(environment).filter(([, value]) => value !== null);
    expect(() => loadConfig(Object.fromEntries(set) as NodeJS.ProcessEnv)).not.toThrow();
    expect(environment).toMatchObject({ ADMIN_PORT: '3001' });
  });

  it('what sets MongoDB up waits for no health that it brings, and has the files that it reads', () => {
    const { configs, depends_on: waitsFor, entrypoint } = serviceOf('mongo-setup');
    expect(waitsFor).toEqual({ mongo: { condition: 'service_started' } });
    const files = [...text('deploy/compose/setup.js').matchAll(/'(\/setup\/[^']+)'/g)];
    const read = [...files.map(([, file]) => file), entrypoint.at(-1)];
    expect(new Set(configs.map(({ target }) => target))).toEqual(new Set(read));
  });

  it('the users of its containers can read their secrets', () => {
    const folder = mkdtempSync(join(tmpdir(), 'markets-odds-secrets-'));
    const script = join(folder, 'make-secrets.sh');
    writeFileSync(script, text('deploy/compose/make-secrets.sh'));
    execFileSync('sh', [script]);
    const made = readdirSync(join(folder, 'secrets'));
    const modes = made.map((name) => statSync(join(folder, 'secrets', name)).mode & 0o004);
    rmSync(folder, { recursive: true });
    expect(modes).toEqual([4, 4, 4]);
  });
});

describe('the image', () => {
  const dockerfile = text('Dockerfile');
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)];
  const names = copied.flatMap(([, list = '']) => list.split(' '));
  const [, , installed = ''] = /(npm ci .*)[^]*(npm ci .*?) \\/.exec(dockerfile) ?? [];

  it('is built of what reaches its builder', () => {
    const letIn = [...text('.dockerignore').matchAll(/^!(.*)$/gm)].map(([, name]) => name);
    expect(new Set(names)).toEqual(new Set(letIn));
    expect(names).toContain('tsconfig.build.json');
    const lastStage = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
    expect(lastStage).toMatch(/^COPY .*\bpackage\.json\b/m);
  });

  it('has no development tools, and its list of parts is of the same install', () => {
    expect(installed).toContain('--omit=dev --omit=optional');
    expect(text('deploy/sbom.sh')).toContain(
      `\n${installed} >&2\nnpm pkg delete devDependencies\nnpm sbom`,
    );
  });
});
