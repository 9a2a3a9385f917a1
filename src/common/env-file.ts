import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';

/** A setting from its name to the end of its line; a value in quotes may have several lines. */
const SETTING = /^(?:export +)?[\w.-]+ *=(?: *(?:"[^"]*"|'[^']*'|`[^`]*`))?.*$/gm;

/**
 * The variables that a file such as `.env` sets; none where there is no file.
 * @throws Error that says why they can't be known
 */
export function readEnvFile(path: string): Record<string, string | undefined> {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return {};
    throw new Error(`${path} can't be read: ${code}`, { cause: error });
  }
  // UTF-16, which some editors call "Unicode", can be valid UTF-8: every other byte is then NUL.
  if (!isUtf8(bytes) || bytes.includes(0)) throw new Error(`${path} is not UTF-8`);
  // parseEnv takes a tab for a part of the name that follows.
  const text = bytes
    .toString()
    .replace(/^\ufeff/, '')
    .replace(/^[ \t]+/gm, '');
  const odd = oddLine(text);
  if (odd) throw new Error(`${path} has a line that is not NAME=value: line ${odd}`);
  return parseEnv(text);
}

/** The number of the first line that is no setting, no comment and not empty: parseEnv hides what follows it. */
function oddLine(text: string): number {
  const rest = text.replace(SETTING, (setting) => setting.replace(/[^\n]/g, ''));
  return rest.split('\n').findIndex((line) => /^\s*[^\s#]/.test(line)) + 1;
}

/** The variables of the environment, and those of `.env` in the working directory that are unset or empty there. */
export function environment(): NodeJS.ProcessEnv {
  const set = Object.entries(process.env).filter(([, value]) => value);
  return { ...readEnvFile('.env'), ...Object.fromEntries(set) };
}
