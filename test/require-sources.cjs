// Jest loads its global set-up by require(), where its mapping of `./x.js` to `./x.ts` does not apply.
const Module = require('node:module');
const { existsSync } = require('node:fs');
const { dirname, resolve } = require('node:path');

// Node's own resolution; the public hooks for it came after Node 20.
/* oxlint-disable no-underscore-dangle */
const resolveFilename = Module._resolveFilename;

Module._resolveFilename = function resolveSource(request, parent, ...rest) {
  if (request.startsWith('.') && request.endsWith('.js') && parent?.filename?.endsWith('.ts')) {
    const source = resolve(dirname(parent.filename), request.replace(/js$/, 'ts'));
    if (existsSync(source)) return source;
  }
  return resolveFilename.call(this, request, parent, ...rest);
};
