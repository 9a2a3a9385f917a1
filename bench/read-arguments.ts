import { parseArgs, type ParseArgsConfig } from 'node:util';

type Arguments<Config extends ParseArgsConfig> = ReturnType<typeof parseArgs<Config>>;

/** Reads the command line. Prints the usage and exits where that is asked for, or an option is wrong. */
export function readArguments<Config extends ParseArgsConfig>(
  usage: string,
  config: Config,
  isUsable: (found: Arguments<Config>) => boolean,
): Arguments<Config> {
  const isHelpWanted = process.argv.some((arg) => arg === '--help' || arg === '-h');
  try {
    const found = parseArgs(config);
    if (isUsable(found)) return found;
  } catch {
    // An option that there is not, or one without its value.
  }
  process.stderr.write(usage);
  return process.exit(isHelpWanted ? 0 : 2);
}
