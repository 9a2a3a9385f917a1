import { describe, expect, it } from '@jest/globals';
import { load } from 'js-yaml';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import {
  copyFile,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
import { Config, settings } from '../src/config.js';
import { satisfies } from '../src/database/indexes.js';
import { PROBE_PATHS } from '../src/http/probe-paths.js';
import { MarketSchema } from '../src/markets/market.schema.js';
import { imageCommand } from './image-command.js';
import { rules } from './monitoring-files.js';
import { readYaml } from './read-yaml.js';

/** What shutting down takes at most. */
const SHUTDOWN_S = 15;

const { cacheMaxMb, watchMaxMb } = new Config();

/** What a process with full caches takes at least: docs/operations.md has figures. */
const MEMORY_MB = 256 + cacheMaxMb + watchMaxMb;

interface Probe {
  readonly httpGet: { path: string; port: string | number };
}

interface SecretKey {
  readonly name: string;
  readonly key: string;
  readonly optional?: boolean;
}

interface Container {
  readonly env: { name: string; valueFrom: { secretKeyRef: SecretKey } }[];
  readonly ports: { name: string; containerPort: number }[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly resources: { readonly limits: { readonly memory: string } };
}

interface PodSpec {
  readonly securityContext: { readonly runAsUser: number; readonly runAsGroup: number };
  readonly terminationGracePeriodSeconds: number;
  readonly containers: [Container];
}

interface PodTemplate {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: PodSpec;
}

/** What means pods by their labels. */
interface Selecting {
  readonly selector?: { readonly matchLabels: object };
  readonly podSelector?: { readonly matchLabels: object };
}

interface ComposeService {
  readonly ports?: readonly string[];
  readonly networks?: readonly string[];
  readonly secrets?: readonly (string | { source: string; target?: string })[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  /** Set for what goes on; what makes something has an end. */
  readonly restart?: string;
}

interface ComposeServer extends ComposeService {
  readonly healthcheck: { readonly test: readonly string[] };
  readonly mem_limit: string;
  readonly stop_grace_period: string;
  readonly environment: object;
}

const dockerfile = readFileSync('Dockerfile', 'utf8');

const deployment = readYaml('deploy/kubernetes/base/deployment.yaml') as {
  kind: string;
  metadata: { name: string };
  spec: { template: PodTemplate; strategy: object };
};
const { metadata, spec: pod } = deployment.spec.template;

describe('Kubernetes', () => {
  const [container] = pod.containers;
  const base = readFileSync('deploy/kubernetes/base/kustomization.yaml', 'utf8');
  const adminPort = Number(/ADMIN_PORT=(\d+)/.exec(base)?.[1]);
  const job = readYaml('deploy/kubernetes/db-init/job.yaml') as {
    spec: { template: { spec: { containers: [Pick<Container, 'env'> & { command: string[] }] } } };
  };

  it.each(['base', 'prometheus', 'db-init'])('applies each file of %s', (folder) => {
    const path = `deploy/kubernetes/${folder}`;
    const { resources } = readYaml(`${path}/kustomization.yaml`) as { resources: string[] };
    const others = ['kustomization.yaml', 'secret.example.yaml'];
    const files = readdirSync(path).filter((name) => !others.includes(name));
    expect(resources).toEqual(expect.arrayContaining(files));
  });

  it.each([
    ['server', pod],
    ['db-init', job.spec.template.spec],
  ])('runs %s where pods are restricted, as the guide says', (_name, { containers, ...spec }) => {
    expect(spec).toMatchObject({
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    });
    expect(containers).toMatchObject([
      { securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } } },
    ]);
  });

  it('probes the admin port, at paths that are there', () => {
    const { startupProbe, livenessProbe, readinessProbe } = container;
    for (const { httpGet } of [startupProbe, livenessProbe, readinessProbe]) {
      const { path, port } = httpGet;
      const asked = container.ports.find(({ name }) => name === port)?.containerPort ?? port;
      expect(asked).toBe(adminPort);
      expect(PROBE_PATHS).toContain(path);
    }
  });

  it('sends no callers to a pod without MongoDB, and restarts none for that', () => {
    const { startupProbe, livenessProbe, readinessProbe } = container;
    const asked = [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet.path);
    expect(asked).toEqual(['/health/live', '/health/live', '/health/ready']);
  });

  it.each([
    ['disruption-budget', ({ selector }: Selecting) => selector],
    ['network-policy', ({ podSelector }: Selecting) => podSelector],
  ])('means its own pods by the %s', (file, selectorOf) => {
    const { spec } = readYaml(`deploy/kubernetes/base/${file}.yaml`) as { spec: Selecting };
    const labels = selectorOf(spec)?.matchLabels ?? {};
    expect(Object.keys(labels)).toHaveLength(2);
    expect(metadata.labels).toMatchObject(labels);
  });

  it('scales the Deployment that there is, between the bounds that the guide tells', () => {
    const { kind, metadata: named } = deployment;
    const guide = readFileSync('docs/deployment.md', 'utf8');
    const [minReplicas, maxReplicas] =
      /(\d+) to (\d+) pods/.exec(guide)?.slice(1).map(Number) ?? [];
    expect(readYaml('deploy/kubernetes/base/autoscaler.yaml')).toMatchObject({
      spec: { scaleTargetRef: { kind, name: named.name }, minReplicas, maxReplicas },
    });
  });

  it('needs no secret but the example’s, whose user is not that who makes collections', () => {
    const { metadata: secret, stringData } = readYaml(
      'deploy/kubernetes/base/secret.example.yaml',
    ) as {
      metadata: { name: string };
      stringData: object;
    };
    const needed = container.env
      .map(({ valueFrom }) => valueFrom.secretKeyRef)
      .filter(({ optional }) => !optional);
    expect(needed).toEqual(Object.keys(stringData).map((key) => ({ name: secret.name, key })));
    const [{ env }] = job.spec.template.spec.containers;
    expect(env[0]?.valueFrom.secretKeyRef.name).not.toBe(secret.name);
  });

  it('makes collections and indexes by the same command as Compose', () => {
    const { services } = readYaml('docker-compose.yml') as {
      services: { 'db-init': { command: string[] } };
    };
    const [{ command }] = job.spec.template.spec.containers;
    expect(command).toEqual(['node', 'dist/cli.js', 'db', 'init']);
    expect(services['db-init'].command).toEqual(command);
  });

  it('lets a pod out to MongoDB, Redis and OpenTelemetry, and to those who know their names', () => {
    const { spec } = readYaml('deploy/kubernetes/base/network-policy.yaml') as {
      spec: { egress: { to?: unknown; ports: { port: number; protocol?: string }[] }[] };
    };
    const anywhere = spec.egress.filter(({ to }) => !to).flatMap(({ ports }) => ports);
    expect(anywhere.map(({ port }) => port)).toEqual(expect.arrayContaining([27017, 6379, 4318]));
    const dns = spec.egress.filter(({ to }) => to).flatMap(({ ports }) => ports);
    // Most names are asked for by UDP; long answers come by TCP.
    expect(dns).toEqual(expect.arrayContaining([{ port: 53, protocol: 'UDP' }, { port: 53 }]));
  });

  it('scrapes the metrics on the admin port, and lets Prometheus in there', () => {
    const { spec: monitor } = readYaml('deploy/kubernetes/prometheus/pod-monitor.yaml') as {
      spec: { podMetricsEndpoints: object[] };
    };
    const { spec: policy } = readYaml('deploy/kubernetes/base/network-policy.yaml') as {
      spec: { ingress: { ports: { port: string }[] }[] };
    };
    const port = container.ports.find(({ containerPort }) => containerPort === adminPort)?.name;
    expect(monitor.podMetricsEndpoints).toEqual([
      expect.objectContaining({ port, path: '/metrics' }),
    ]);
    const letIn = policy.ingress.flatMap(({ ports }) => ports.map((each) => each.port));
    expect(letIn.toSorted()).toEqual(container.ports.map(({ name }) => name).toSorted());
  });

  it('leads callers to its pods, and to no port but the API’s', () => {
    const { spec } = readYaml('deploy/kubernetes/base/service.yaml') as {
      spec: { selector: object; ports: { targetPort: string }[] };
    };
    expect(metadata.labels).toMatchObject(spec.selector);
    expect(spec.ports.map(({ targetPort }) => targetPort)).toEqual(['http']);
    const { port } = new Config();
    expect(container.ports).toContainEqual({ name: 'http', containerPort: port });
  });

  it('leaves the time that shutting down takes', () => {
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(SHUTDOWN_S);
  });

  it('leaves the memory that full caches take', () => {
    const [, mebibytes] = /^(\d+)Mi$/.exec(container.resources.limits.memory) ?? [];
    expect(Number(mebibytes)).toBeGreaterThanOrEqual(MEMORY_MB);
  });

  it('takes no pod away for a new version before another is ready', () => {
    expect(deployment.spec.strategy).toEqual({ rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } });
  });

  it('lets a node be drained, pod by pod', () => {
    const { spec } = readYaml('deploy/kubernetes/base/disruption-budget.yaml') as { spec: object };
    expect(spec).toMatchObject({ maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' });
  });
});

describe('alert rules', () => {
  /** Prometheus compares with the whole of the name. */
  const jobs = rules.flatMap(({ expr }) =>
    [...expr.matchAll(/\bjob=~?"([^"]*)"/g)].map(([, name]) => new RegExp(`^(?:${name})$`)),
  );

  it('ask for the job that the PodMonitor makes of the pods', () => {
    const { spec } = readYaml('deploy/kubernetes/prometheus/pod-monitor.yaml') as {
      spec: {
        jobLabel?: string;
        selector: { matchLabels: object };
        podMetricsEndpoints: { port: string }[];
      };
    };
    expect(metadata.labels).toMatchObject(spec.selector.matchLabels);
    expect(pod.containers[0].ports.map(({ name }) => name)).toEqual(
      expect.arrayContaining(spec.podMetricsEndpoints.map(({ port }) => port)),
    );
    const job = metadata.labels[spec.jobLabel ?? ''] ?? 'namespace/markets-odds';
    expect(jobs.length).toBeGreaterThan(5);
    for (const asked of jobs) expect(job).toMatch(asked);
  });

  it('ask for the job that the guide names', () => {
    const guide = readFileSync('docs/deployment.md', 'utf8');
    const [, job] = /`job_name: ([^`]+)`/.exec(guide) ?? [];
    for (const asked of jobs) expect(job).toMatch(asked);
  });
});

it.each(['docker-compose.yml', 'deploy/kubernetes/base/kustomization.yaml'])(
  '%s leaves to the operator what the service has no right to make',
  (file) => {
    expect(readFileSync(file, 'utf8')).toMatch(/\bDB_INIT(?:: '|=)false\b/);
  },
);

it('the checks fail in CI where one of their programs is missing, and say which', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'markets-odds-check-'));
  try {
    for (const program of ['dirname', 'mktemp', 'rm']) {
      const { stdout } = await promisify(execFile)('sh', ['-c', `command -v ${program}`]);
      await symlink(stdout.trim(), join(folder, program));
    }
    const check = (CI: string) =>
      promisify(execFile)('/bin/sh', ['deploy/check.sh'], { env: { PATH: folder, CI } });
    await expect(check('true')).rejects.toMatchObject({
      code: 1,
      stdout: 'skipped: hadolint is not installed\n',
    });
    expect((await check('')).stdout.match(/^skipped: /gm)).toHaveLength(8);
  } finally {
    await rm(folder, { recursive: true });
  }
});

describe('the image', () => {
  it('starts Node as the deployment page says', () => {
    const page = readFileSync('docs/deployment.md', 'utf8');
    expect(page).toContain(`\`${imageCommand().join(' ')}\``);
  });

  it('has the Node that its label, the deployment page and `.nvmrc` name', () => {
    const page = readFileSync('docs/deployment.md', 'utf8');
    const [base = '', ...others] = [...dockerfile.matchAll(/node:[\d.]+-slim/g)].map(
      ([name]) => name,
    );
    expect(others).toEqual([base, base]);
    expect(page).toContain(`\`${base}\` in both stages`);
    expect(base).toMatch(`node:${readFileSync('.nvmrc', 'utf8').trim()}.`);
  });
});

describe('Compose', () => {
  const { services } = readYaml('docker-compose.yml') as {
    services: Record<string, ComposeService> & { markets: ComposeServer };
  };
  const { markets } = services;
  const secretsScript = readFileSync('deploy/compose/make-secrets.sh', 'utf8');
  const [, host, setName] = /^database=(.+)\/.*\?replicaSet=(\w+)$/m.exec(secretsScript) ?? [];

  it('names the MongoDB that the deployment page calls unchecked', () => {
    const [, version] = /image: mongo:(\S+)/.exec(readFileSync('docker-compose.yml', 'utf8')) ?? [];
    expect(readFileSync('docs/deployment.md', 'utf8')).toContain(
      `MongoDB ${version}, which Compose names`,
    );
  });

  it('leaves the time that shutting down takes', () => {
    const [, seconds] = /^(\d+)s$/.exec(markets.stop_grace_period) ?? [];
    expect(Number(seconds)).toBeGreaterThanOrEqual(SHUTDOWN_S);
  });

  it('leaves the memory that full caches take', () => {
    const [, megabytes] = /^(\d+)m$/.exec(markets.mem_limit) ?? [];
    expect(Number(megabytes)).toBeGreaterThanOrEqual(MEMORY_MB);
  });

  it('is up when look-ups can be answered, for whom `--wait` waits', () => {
    expect(markets.healthcheck.test).toEqual(['CMD', 'node', 'dist/health-check.js', 'ready']);
  });

  it('starts nothing before what it needs is made, such as the indexes', () => {
    const conditions = Object.values(services)
      .flatMap(({ depends_on = {} }) => Object.entries(depends_on))
      .filter(([name]) => services[name]?.restart === undefined)
      .map(([name, { condition }]) => `${name}: ${condition}`);
    expect(Object.keys(markets.depends_on ?? {})).toContain('db-init');
    expect(new Set(conditions)).toEqual(
      new Set([
        'db-init: service_completed_successfully',
        'mongo-setup: service_completed_successfully',
        'mongo-keyfile: service_completed_successfully',
      ]),
    );
  });

  it('publishes the service alone, and on this machine alone unless told otherwise', () => {
    const published = Object.entries(services).filter(([, { ports }]) => ports);
    expect(published.map(([name, { ports }]) => [name, ports])).toEqual([
      ['markets', ['${PUBLISH:-127.0.0.1:3000}:3000']],
    ]);
  });

  it('gives the service no rights but its own: those of the operator are for commands', () => {
    const given = Object.entries(services).map(([name, { secrets = [] }]) => [
      name,
      secrets.map((secret) => (typeof secret === 'string' ? secret : secret.source)),
    ]);
    expect(Object.fromEntries(given)).toMatchObject({
      markets: ['service.env'],
      cli: ['operator.env'],
      'db-init': ['operator.env'],
      mongo: ['mongo-root-password'],
    });
  });

  it('puts each .env where the service reads it: in the working directory of the image', () => {
    const [, directory] = /^WORKDIR (\S+)$(?!.*^WORKDIR)/ms.exec(dockerfile) ?? [];
    const places = Object.values(services)
      .flatMap(({ secrets = [] }) => secrets)
      .flatMap((secret) => (typeof secret === 'string' ? [] : [secret.target]));
    expect(places).toHaveLength(3);
    expect(new Set(places)).toEqual(new Set([`${directory}/.env`]));
  });

  it('keeps MongoDB on a network without a way in or out', () => {
    const { networks } = readYaml('docker-compose.yml') as {
      networks: { database: { internal?: boolean } };
    };
    expect(services['mongo']?.networks).toEqual(['database']);
    expect(networks.database.internal).toBe(true);
  });

  it('passes on every setting but these', () => {
    const dropped = settings.filter(({ variable }) => !(variable in markets.environment));
    expect(dropped.map(({ variable }) => variable)).toEqual([
      // What is published is port 3000, on the container's own address.
      'PORT',
      'HOST',
      // May hold passwords: they are in service.env.
      'MONGODB_URI',
      // There is no embedded MongoDB.
      'EMBEDDED_DB_PATH',
      'DEMO_FEED',
      'REDIS_URL',
      // JSON, since nobody reads it on a terminal.
      'LOG_FORMAT',
    ]);
  });

  it('makes the users of the connection strings, and changes them with these, whatever else is in service.env', () => {
    const files: Record<string, string> = {
      '/run/secrets/mongo-root-password': 'root\n',
      '/run/secrets/service.env': 'REDIS_URL=redis://:no@redis\nMONGODB_URI=mongodb://a:b@m/odds\n',
      '/run/secrets/operator.env':
        'MONGODB_URI=mongodb://c:d@m/odds\nREDIS_URL=redis://:no@redis\n',
      '/setup/roles.json': readFileSync('deploy/mongodb/roles.json', 'utf8'),
    };
    const users = new Map<string, object>();
    const roles = new Map<string, object>();
    let replicaSet: object | undefined;
    const databaseNamed = (name: string): object => ({
      getName: () => name,
      getSiblingDB: databaseNamed,
      runCommand: ({ replSetInitiate }: { replSetInitiate?: object }) => {
        if (replSetInitiate && replicaSet) throw Object.assign(new Error('there'), { code: 23 });
        replicaSet ??= replSetInitiate;
        return { isWritablePrimary: true };
      },
      getRole: (role: string) => roles.get(role) ?? null,
      createRole: ({ role, ...made }: { role: string }) => {
        if (roles.has(role)) throw new Error(`Role ${role} already exists`);
        roles.set(role, made);
      },
      updateRole: (role: string, changed: object) => roles.set(role, changed),
      getUser: (user: string) => users.get(user) ?? null,
      createUser: ({ user, ...made }: { user: string }) =>
        users.set(user, { database: name, ...made }),
      updateUser: (user: string, changed: object) =>
        users.set(user, { ...users.get(user), ...changed }),
    });
    let refusals = 0;
    const run = () =>
      runInNewContext(readFileSync('deploy/compose/setup.js', 'utf8'), {
        URL,
        require: () => ({ readFileSync: (path: string) => files[path] }),
        print: () => undefined,
        sleep: () => undefined,
        Mongo: class {
          readonly getDB = databaseNamed;

          constructor(uri: string) {
            expect(uri).toContain(`@${host}/`);
            if ((refusals += 1) < 3) throw new Error('It is not up yet');
          }
        },
      });
    run();
    const made = {
      a: { database: 'odds', pwd: 'b', roles: ['marketsService'] },
      c: { database: 'odds', pwd: 'd', roles: ['marketsOperator'] },
    };
    expect(Object.fromEntries(users)).toEqual(made);
    expect(replicaSet).toEqual({ _id: setName, members: [{ _id: 0, host }] });
    expect(services['mongo']).toMatchObject({
      command: expect.arrayContaining(['--replSet', setName]),
    });
    expect(roles.get('marketsService')).toMatchObject({
      privileges: [{ resource: { db: 'odds', collection: '' } }],
    });

    // At the next start, with another password, escaped in its URL, and a role that has grown.
    files['/run/secrets/service.env'] = 'MONGODB_URI=mongodb://a:n%40w@m/odds\n';
    files['/setup/roles.json'] = (files['/setup/roles.json'] ?? '').replaceAll(
      '"find"',
      '"dbStats"',
    );
    run();
    expect(Object.fromEntries(users)).toEqual({ ...made, a: { ...made.a, pwd: 'n@w' } });
    expect(JSON.stringify(roles.get('marketsService'))).toContain('dbStats');
  });
});

it('the image runs as nobody in particular, and never with an embedded MongoDB', () => {
  const shipped = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
  expect(/^USER (\d+):(\d+)$/m.exec(shipped)?.slice(1)).toEqual([
    String(pod.securityContext.runAsUser),
    String(pod.securityContext.runAsGroup),
  ]);
  expect(shipped).toMatch(/^ENV NODE_ENV=production$/m);
});

it('the image’s own health check does not ask for MongoDB, which no restart brings back', () => {
  const lines = dockerfile.replaceAll('\\\n', '');
  const [check] = /^HEALTHCHECK .*$/m.exec(lines) ?? [];
  expect(check).toContain('health-check.js');
  expect(check).not.toContain('ready');
});

it('an alert about what is up fires where it is not', () => {
  const ups = rules.map(({ expr }) => expr).filter((expr) => /^\w*up\{/.test(expr));
  expect(ups).toHaveLength(3);
  for (const expr of ups) expect(expr).toMatch(/ == 0(?: and on .*)?$/);
});

it('an alert that leaves out what another one tells of fires where all else is up', () => {
  const others = rules.flatMap(({ expr }) => /\band on \(instance\) (.*)$/.exec(expr)?.[1] ?? []);
  expect(others).toEqual(['mongodb_up == 1', 'mongodb_up == 1', 'change_feed_up == 1']);
});

/** Of a duration in the words of Prometheus. */
const secondsOf = (duration = '') => parseInt(duration) * (duration.endsWith('m') ? 60 : 1);

it('an alert that counts what has happened fires before that is forgotten', () => {
  const counting = rules.filter(({ expr }) => /\b(?:increase|changes)\(/.test(expr));
  expect(counting).toHaveLength(3);
  for (const { expr, for: wait } of counting) {
    const [, counted] = /\[(\w+)\]/.exec(expr) ?? [];
    expect(2 * secondsOf(wait)).toBeLessThan(secondsOf(counted));
  }
});

it('an alert that wakes somebody does so within five minutes', () => {
  const waits = rules
    .filter(({ labels }) => labels.severity === 'critical')
    .map(({ for: wait }) => secondsOf(wait));
  expect(Math.max(...waits)).toBeLessThanOrEqual(300);
});

it('an alert that wants something to happen for a while does not look back for longer', () => {
  const happening = rules.flatMap(({ expr, for: wait }) =>
    [...expr.matchAll(/rate\([^[]*\[(\w+)\]\)+ > 0(?!\.)/g)].map(([, back]) => [back, wait]),
  );
  expect(happening.map(([, wait]) => wait)).toEqual(['5m', '3m', '5m']);
  for (const [back, wait] of happening) expect(secondsOf(back)).toBeLessThan(secondsOf(wait));
});

it('an alert that wakes somebody at once is not about what is over', () => {
  const rates = rules.filter(
    ({ expr, labels }) => labels.severity === 'critical' && /\brate\(/.test(expr),
  );
  expect(rates).toHaveLength(1);
  for (const { expr, for: wait } of rates) {
    const looksBack = [...expr.matchAll(/\[(\w+)\]/g)].map(([, counted]) => secondsOf(counted));
    expect(2 * Math.min(...looksBack)).toBeLessThan(secondsOf(wait));
  }
});

describe('an alert about a time', () => {
  const times = rules.filter(({ annotations }) =>
    /humanizeDuration/.test(Object.values(annotations).join()),
  );

  it.each(times.map(({ alert, expr }) => [alert, expr]))(
    'has a threshold in seconds, as the figure is: %s',
    (_alert, expr) => {
      expect(expr).toMatch(/_seconds\b|_seconds_bucket\b/);
      const threshold = Number(/> ([\d.]+)/.exec(expr)?.[1]);
      expect(threshold).toBeGreaterThan(0);
      // Callers are answered within 2.5 s, whatever happens.
      expect(threshold).toBeLessThan(2.5);
    },
  );
});

describe('an alert about a share', () => {
  const shares = rules.filter(({ annotations }) =>
    annotations.summary.includes('humanizePercentage'),
  );

  it.each(shares.map(({ alert, expr }) => [alert, expr]))(
    'has a threshold between none and all: %s',
    (_alert, expr) => {
      const threshold = Number(/[<>]=? ([\d.]+)/.exec(expr)?.[1]);
      expect(threshold).toBeGreaterThan(0);
      expect(threshold).toBeLessThan(1);
    },
  );

  it.each(shares.map(({ alert, expr, annotations }) => [alert, expr, annotations.summary]))(
    'fires below its threshold if it says that there is only so much, else above: %s',
    (_alert, expr, summary) => {
      const [, side] = /([<>])=? [\d.]+/.exec(expr) ?? [];
      expect(side).toBe(summary.startsWith('Only ') ? '<' : '>');
    },
  );
});

it.each(['README.md', 'CONTRIBUTING.md'])('%s names the versions of Node that will do', (page) => {
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    engines: { node: string };
  };
  const text = readFileSync(page, 'utf8');
  for (const [version] of engines.node.matchAll(/\d+\.\d+/g)) expect(text).toContain(version);
});

it('the identity’s index of a sharded collection begins with the shard key, and `db init` takes it for its own', () => {
  const guide = readFileSync('docs/scaling.md', 'utf8');
  const [, shardKey = ''] = /shardCollection\([^{]*(\{[^}]*\})/.exec(guide) ?? [];
  const [, fields = '', name] =
    /createIndex\((\{[^}]*\}), \{ unique: true, name: '(\w+)'/.exec(guide) ?? [];
  const key = load(fields) as object;
  const [keys] = MarketSchema.indexes().find(([, { unique }]) => unique) ?? [{}];
  // The name that no guide tells anybody to drop.
  const wanted = { collection: 'markets', name: 'market_identity', unique: true };
  expect(Object.keys(key)[0]).toBe(Object.keys(load(shardKey) as object)[0]);
  expect(name).toBe(wanted.name);
  expect(satisfies({ key, unique: true }, { ...wanted, keys })).toBe(true);
});

/** The fields of the index that begins with one of them. */
function keysFrom(first: string): string[] {
  const all = MarketSchema.indexes().map(([keys]) => Object.keys(keys));
  return all.find(([field]) => field === first) ?? [];
}

it('the keys of indexes that the documents show are those that the service makes', () => {
  const guide = readFileSync('docs/operations.md', 'utf8');
  const decision = readFileSync('docs/decisions/0001-one-index-for-each-look-up.md', 'utf8');
  const shown = (pattern: RegExp) => Object.keys(load(pattern.exec(guide)?.[1] ?? '') as object);
  expect(shown(/createIndex\((\{.*?\}), .*'market_identity'/)).toEqual(keysFrom('marketId'));
  expect(shown(/IXSCAN (\{.*?\})/)).toEqual(keysFrom('fixtureId'));
  expect(decision).toContain(`\`{${keysFrom('eventId').join(', ')}}\``);
});

it('secrets are made once, in a folder that is closed to others', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'markets-odds-secrets-'));
  const secrets = join(folder, 'secrets');
  const make = async () => {
    await promisify(execFile)('sh', [join(folder, 'make-secrets.sh')]);
    const names = (await readdir(secrets)).toSorted();
    return Promise.all(
      names.map(async (name) => [name, await readFile(join(secrets, name), 'utf8')]),
    );
  };
  try {
    await copyFile('deploy/compose/make-secrets.sh', join(folder, 'make-secrets.sh'));
    const made = await make();
    expect(made.map(([name]) => name)).toEqual([
      'mongo-root-password',
      'operator.env',
      'service.env',
    ]);
    expect((await stat(secrets)).mode % 0o1000).toBe(0o700);
    expect(readFileSync('.gitignore', 'utf8')).toMatch(/^deploy\/compose\/secrets$/m);
    expect(made.map(([, text = '']) => /(?:^|:)(\w+)(?:@|\n)/.exec(text)?.[1]?.length)).toEqual([
      32, 32, 32,
    ]);
    expect(await make()).toEqual(made);
    // As a full disk leaves it.
    await truncate(join(secrets, 'service.env'));
    expect((await make()).map(([, text]) => text !== '')).toEqual([true, true, true]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
