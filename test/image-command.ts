import { readFileSync } from 'node:fs';

/** How the image starts the service: program, options, script. */
export function imageCommand(): string[] {
  const [, words = ''] = /^CMD (\["node", .*\])$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
  return JSON.parse(words) as string[];
}
