import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';

/** A setting from its name to the end of its line; a value in quotes may have several lines. */
const SETTING = /^(?:export +)?[\w.-]+ *=(?: *(?:"[^"]*"|'[^']*'|`[^`]*`))?.*$/gm;

/** What a file such as `.env` sets, and what is wrong with it. */
interface EnvFile {
  readonly variables: NodeJS.ProcessEnv;
  readonly faults: string[];
}

/** Sets nothing where there is no file. */
export function readEnvFile(path: string): EnvFile {
  const unreadable = (why: string): EnvFile => ({ variables: {}, faults: [`${path} ${why}`] });
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? { variables: {}, faults: [] } : unreadable(`can't be read: ${code}`);
  }
  // UTF-16, which some editors call "Unicode", can be valid UTF-8: every other byte is then NUL.
  if (!isUtf8(bytes) || bytes.includes(0)) return unreadable('is not UTF-8');
  // parseEnv takes a tab, and a second space after `export`, for a part of the name that follows; and on Node 20 a tab
  // at the end, or before a comment, for a part of the value.
  const text = bytes
    .toString()
    .replace(/^\ufeff/, '')
    .replace(/^[ \t]+/gm, '')
    .replace(/^export +/gm, 'export ')
    .replace(/\t+(?= *(?:#[^"'`\n]*)?$)/gm, ' ');
  const odd = oddLines(text);
  const faults = odd.map((line) => `${path} has a line that is not NAME=value: line ${line}`);
  // parseEnv hides what follows an odd line.
  const settings = text.split('\n').filter((_, index) => !odd.includes(index + 1));
  // Without the line end parseEnv would drop a last value with a quote that is not closed.
  return { variables: parseEnv(`${settings.join('\n')}\n`), faults };
}

/** The numbers of the lines that are no setting, no comment and not empty. */
function oddLines(text: string): number[] {
  const rest = text.replace(SETTING, (setting) => setting.replace(/[^\n]/g, ''));
  return rest.split('\n').flatMap((line, index) => (/^\s*[^\s#]/.test(line) ? index + 1 : []));
}

/** The variables of the environment, and those of `.env` in the working directory that are unset or empty there. */
export function environment(): EnvFile {
  const set = Object.entries(process.env).filter(([, value]) => value);
  const { variables, faults } = readEnvFile('.env');
  return { variables: { ...variables, ...Object.fromEntries(set) }, faults };
}
