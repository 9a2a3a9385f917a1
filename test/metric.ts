/** A service that listens on this machine. */
interface Target {
  readonly port: number;
}

/** The value of a metric without labels. */
export async function metric(target: Target, name: string): Promise<number> {
  return (await metricsOf(target))(name);
}

/** All metrics as they are at one moment: gives the value of each that has no labels. */
export async function metricsOf({ port }: Target): Promise<(name: string) => number> {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  const text = await answer.text();
  return (name) => {
    const [, value] = new RegExp(`^${name} (.+)$`, 'm').exec(text) ?? [];
    if (value === undefined) throw new Error(`No metric ${name}`);
    return Number(value);
  };
}
