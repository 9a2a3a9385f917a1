import { Injectable } from '@nestjs/common';
import { setImmediate } from 'node:timers/promises';
import { Problem } from '../http/problem.js';
import { READ_BUDGET_MS } from '../database/bounded-reads.js';
import { Database } from '../database/database.js';
import { conditionsOf } from './conditions.js';
import type { MarketsQuery } from './markets-query.dto.js';
import { filterOf, type Scope } from './scope.js';
import { NO_MARKETS, StoredPages, type Lookup, type StoredPage } from './stored-pages.js';

/** A command that takes in look-ups until this turn of the event loop ends, and their pages in the same order. */
interface NextCommand {
  readonly lookups: Lookup[];
  readonly pages: Promise<readonly StoredPage[]>;
}

/** The most look-ups in one command. With more, MongoDB and the service would wait for each other. */
const LOOKUPS_PER_COMMAND_MAX = 4;

const { markets: ALONE_MS, sharedPages: SHARED_MS } = READ_BUDGET_MS;

/** After a shared command that failed, each look-up has a command of its own for a while. */
const APART_FOR_MS = 1_000;

/**
 * Reads pages from MongoDB. Look-ups that arrive in one turn of the event loop share a command, since most of what a
 * small one costs is the command itself.
 */
@Injectable()
export class PageReader {
  private readonly stored = new StoredPages(this.database);
  private next: NextCommand | undefined;
  private apartUntil = -Infinity;

  constructor(private readonly database: Database) {}

  /** @throws Problem when MongoDB can't answer (in time) */
  async read(scope: Scope, query: MarketsQuery): Promise<StoredPage> {
    const lookup = { match: { $match: { ...conditionsOf(query), ...filterOf(scope) } }, query };
    this.next ??= this.begin();
    const { lookups, pages } = this.next;
    const index = lookups.push(lookup) - 1;
    const isShared = this.database.topology.hasSnapshots && performance.now() >= this.apartUntil;
    if (!isShared || lookups.length === LOOKUPS_PER_COMMAND_MAX) this.next = undefined;
    try {
      return (await pages)[index] ?? NO_MARKETS;
    } catch (error) {
      const isOverload = error instanceof Problem && error.code === 'overloaded';
      if (lookups.length === 1 || isOverload) throw error;
      // Each is read again alone, with more time: one that is slow, or finds what can't be read, makes no other fail.
      this.apartUntil = performance.now() + APART_FOR_MS;
      const [page = NO_MARKETS] = await this.send([lookup], ALONE_MS - SHARED_MS);
      return page;
    }
  }

  private begin(): NextCommand {
    const lookups: Lookup[] = [];
    const pages = setImmediate().then(() => {
      this.next = undefined;
      return this.send(lookups, lookups.length === 1 ? ALONE_MS : SHARED_MS);
    });
    return { lookups, pages };
  }

  private send(lookups: readonly Lookup[], budgetMs: number): Promise<readonly StoredPage[]> {
    return this.database.read(budgetMs, (attempt) => this.stored.read(lookups, attempt));
  }
}
