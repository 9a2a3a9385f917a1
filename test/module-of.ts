/** The address of a module of this source, for `--import` and `import`. */
export function moduleOf(source: string): string {
  return `data:text/javascript,${encodeURIComponent(source)}`;
}

/** A module that has module hooks of this source take part in what is loaded after it. */
export function registrationOf(hooks: string): string {
  const url = JSON.stringify(moduleOf(hooks));
  return moduleOf(`import { register } from 'node:module'; register(${url});`);
}
