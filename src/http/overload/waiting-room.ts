/** Who waits, in the order of arrival. Some stand ahead or behind of all others. */
export class WaitingRoom<Visitor> {
  private readonly visitors: Visitor[] = [];
  private readonly ahead: Visitor[] = [];
  private readonly behind: Visitor[] = [];

  get length(): number {
    return this.ahead.length + this.visitors.length + this.behind.length;
  }

  add(visitor: Visitor): void {
    this.visitors.push(visitor);
  }

  /** Has waited already. */
  addAhead(visitor: Visitor): void {
    this.ahead.push(visitor);
  }

  /** Goes after all who come while it waits, too. */
  addBehind(visitor: Visitor): void {
    this.behind.push(visitor);
  }

  next(): Visitor | undefined {
    return this.ahead.shift() ?? this.visitors.shift() ?? this.behind.shift();
  }
}
