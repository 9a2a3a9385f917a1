import { describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { settings } from '../src/config.js';

describe('The settings that are shipped', () => {
  it.each(['docker-compose.yml', 'deploy/kubernetes/base/kustomization.yaml'])(
    '%s names settings that there are',
    async (file) => {
      const known = settings.map(({ variable }) => variable);
      const text = await readFile(file, 'utf8');
      const [, ours = ''] = /(?:environment|literals):\n((?: {6,}.*\n)+)/.exec(text) ?? [];
      const named = [...ours.matchAll(/^ +(?:- )?([A-Z_]+)[:=]/gm)].map(([, name]) => name);
      expect(named.length).toBeGreaterThan(3);
      expect(known).toEqual(expect.arrayContaining(named));
    },
  );

  it('trust the one proxy in front, behind which all callers would else have one address', async () => {
    const text = await readFile('deploy/kubernetes/base/kustomization.yaml', 'utf8');
    expect(text).toMatch(/^ +- TRUST_PROXY=1$/m);
  });
});

describe('The version that is shipped', () => {
  it.each([
    ['deploy/kubernetes/base/kustomization.yaml', /^ +newTag: '?([\w.-]+)'?$/gm],
    ['deploy/kubernetes/db-init/kustomization.yaml', /^ +newTag: '?([\w.-]+)'?$/gm],
    ['docs/deployment.md', /(?:VERSION=|markets-odds-service:)([\d.]+)/g],
  ])('in %s is that of package.json', async (file, pattern) => {
    const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
    const named = [...(await readFile(file, 'utf8')).matchAll(pattern)].map(([, found]) => found);
    expect(new Set(named)).toEqual(new Set([version]));
  });

  it('has the same name in the Dockerfile and in Compose while it has no number', async () => {
    const [, built] = /^ARG VERSION=(\S+)$/m.exec(await readFile('Dockerfile', 'utf8')) ?? [];
    const compose = await readFile('docker-compose.yml', 'utf8');
    const named = [...compose.matchAll(/\$\{VERSION:-([^}]+)\}/g)].map(([, name]) => name);
    expect(named).toEqual([built, built]);
  });
});
