import { CORE_SCHEMA, load, mergeTag } from 'js-yaml';
import { readFileSync } from 'node:fs';

/** A file as those read it whom it is for: Compose merges what `<<` names. */
export function readYaml(file: string): unknown {
  return load(readFileSync(file, 'utf8'), { schema: CORE_SCHEMA.withTags(mergeTag) });
}
