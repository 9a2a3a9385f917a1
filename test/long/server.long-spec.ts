import { expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { ServerProcess, spawnProgram } from '../server-process.js';
import { createInterface } from 'node:readline';
import { moduleOf, registrationOf } from '../module-of.js';
import { testDatabaseUri } from '../mongo.js';
import { until } from '../until.js';

it('a server takes no arguments, and says so', async () => {
  const env = { MONGODB_URI: 'mongodb://127.0.0.1:9/odds' };
  const server = ServerProcess.spawn(env, { args: ['--help'] });
  expect(await server.exited).toBe(1);
  expect(server.stderr).toEqual([
    'The server takes no arguments: set PORT and the like in its environment',
  ]);
});

it.each(['PORT', 'ADMIN_PORT'])('a server says what to mend where %s is taken', async (setting) => {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  try {
    const env = { MONGODB_URI: 'mongodb://127.0.0.1:9/odds', [setting]: String(port) };
    const server = ServerProcess.spawn(env);
    expect(await server.exited).toBe(1);
    expect(server.stderr).toEqual([
      `Could not start: listen EADDRINUSE: address already in use 127.0.0.1:${port} ` +
        '(another program has this port: set another PORT or ADMIN_PORT)',
    ]);
  } finally {
    holder.close();
  }
});

it('a server says what to mend where the machine has no such address', async () => {
  // An address that is for documentation alone (RFC 5737).
  const env = { MONGODB_URI: 'mongodb://127.0.0.1:9/odds', HOST: '192.0.2.1', PORT: '3000' };
  const server = ServerProcess.spawn(env);
  expect(await server.exited).toBe(1);
  expect(server.stderr).toEqual([
    'Could not start: listen EADDRNOTAVAIL: address not available 192.0.2.1:3000 ' +
      '(this machine has no such address: set another HOST)',
  ]);
});

it('a server says what to mend where its host has no address, and repeats no key', async () => {
  const env = { MONGODB_URI: 'mongodb://127.0.0.1:9/odds', HOST: 'mos_0123456789ab_x.invalid' };
  const server = ServerProcess.spawn(env);
  expect(await server.exited).toBe(1);
  expect(server.stderr).toEqual([
    expect.stringMatching(
      /^Could not start: getaddrinfo \w+ mos_\[redacted\]\.invalid \(no address is found for this name: set another HOST\)$/,
    ),
  ]);
});

it('a server is traced from before its driver is loaded, and sends its last spans before it ends', async () => {
  const packages = {
    '@opentelemetry/sdk-node': moduleOf(`
      await new Promise((resolve) => setTimeout(resolve, 100));
      export const resources = {};
      export class NodeSDK {
        start() { process.stderr.write('tracing starts\\n'); }
        async shutdown() { process.stderr.write('the last spans\\n'); }
      }`),
    '@opentelemetry/instrumentation-mongodb': moduleOf('export class MongoDBInstrumentation {}'),
  };
  const registration = registrationOf(`
    import { writeSync } from 'node:fs';
    const packages = ${JSON.stringify(packages)};
    export const resolve = (name, context, next) => {
      if (name === 'mongodb') writeSync(2, 'the driver is loaded\\n');
      return packages[name] ? { url: packages[name], shortCircuit: true } : next(name, context);
    };`);
  const env = { MONGODB_URI: testDatabaseUri(), OTEL_TRACES_EXPORTER: 'console' };
  const traced = ServerProcess.spawn(env, { nodeArgs: ['--import', registration] });
  try {
    await traced.listening();
    traced.kill('SIGTERM');
    expect(await traced.exited).toBe(0);
    const [first, second] = traced.stderr;
    expect([first, second]).toEqual(['tracing starts', 'the driver is loaded']);
    expect(traced.stderr.at(-1)).toBe('the last spans');
  } finally {
    await traced.stop();
  }
});

it('a server that has something to say on stderr serves, though nobody reads it, until the second signal', async () => {
  const env = { MONGODB_URI: 'mongodb://127.0.0.1:1', OTEL_TRACES_EXPORTER: 'console' };
  const child = spawnProgram(env);
  child.stderr.destroy();
  try {
    const said: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      const [what] = /Listening on|finishing what is under way/.exec(line) ?? [];
      if (what === undefined) continue;
      said.push(what);
      child.kill('SIGTERM');
    }
    expect(said).toEqual(['Listening on', 'finishing what is under way']);
    if (child.exitCode === null) await once(child, 'exit');
    // It would have been 0, seconds later.
    expect(child.exitCode).toBe(1);
  } finally {
    child.kill('SIGKILL');
  }
});

it('a fault that nobody caught ends the server, though there is more to do, and is in the log', async () => {
  // It comes as soon as somebody listens for such faults.
  const script = `process.on('newListener', (name) => {
    if (name === 'uncaughtException') setTimeout(() => Promise.reject(new Error('lost')));
  });`;
  const server = ServerProcess.spawn(
    { MONGODB_URI: 'mongodb://127.0.0.1:1' },
    { nodeArgs: ['--import', moduleOf(script)] },
  );
  try {
    await until(() => server.hasEnded, 30_000);
    expect(await server.exited).toBe(1);
    const last = JSON.parse(server.stdout.at(-1) ?? '');
    expect(last).toMatchObject({
      level: 'fatal',
      msg: 'unhandledRejection',
      err: { message: 'lost' },
    });
  } finally {
    await server.stop();
  }
});
