import { expect, it } from '@jest/globals';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { moduleOf } from '../module-of.js';
import { startCli } from '../run-cli.js';
import { withStuckLookUp } from '../stuck-look-up.js';
import { until } from '../until.js';

it('a server ends within 15 s though the name of its MongoDB is still being looked up', async () => {
  await withStuckLookUp(async (server) => {
    server.kill('SIGTERM');
    await until(() => server.hasEnded, 15_000);
  });
}, 30_000);

it('a command says that no name server answers, long before it gives up', async () => {
  const silent = createSocket('udp4').bind(0, '127.0.0.1');
  await once(silent, 'listening');
  const servers = JSON.stringify([`127.0.0.1:${silent.address().port}`]);
  const asksIt = `import { setServers } from 'node:dns'; setServers(${servers});`;
  const child = startCli(['db', 'status'], {
    env: {
      MONGODB_URI: 'mongodb+srv://odds.example/x',
      NODE_OPTIONS: `--import=${moduleOf(asksIt)}`,
    },
  });
  const ended = once(child, 'close');
  try {
    const said: Buffer[] = [];
    child.stderr.on('data', (data: Buffer) => said.push(data));
    await until(() => /nothing was heard for 5 s/.test(Buffer.concat(said).toString()), 15_000);
    expect(child.exitCode).toBeNull();
  } finally {
    child.kill('SIGKILL');
    await ended;
    silent.close();
  }
}, 30_000);
