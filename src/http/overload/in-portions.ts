/** So much is done before the event loop looks at the sockets again. Milliseconds. */
const PORTION_MS = 1;

/** What can wait a moment and may come by the hundred, done in portions: everybody else's requests come between them. */
export class InPortions<Task> {
  private readonly tasks: Task[] = [];

  constructor(private readonly perform: (task: Task) => void) {}

  add(task: Task): void {
    this.tasks.push(task);
    if (this.tasks.length === 1) setImmediate(this.performSome);
  }

  private readonly performSome = (): void => {
    const endsAt = performance.now() + PORTION_MS;
    let done = 0;
    for (const task of this.tasks) {
      this.perform(task);
      done += 1;
      if (performance.now() >= endsAt) break;
    }
    this.tasks.splice(0, done);
    if (this.tasks.length > 0) setImmediate(this.performSome);
  };
}
