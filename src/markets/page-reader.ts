import { Injectable } from '@nestjs/common';
import { Problem } from '../http/problem.js';
import { READ_BUDGET_MS } from '../database/bounded-reads.js';
import { Database } from '../database/database.js';
import { conditionsOf } from './market.filters.js';
import type { MarketsQuery } from './markets-query.dto.js';
import type { Scope } from './scope.js';
import { NO_MARKETS, StoredPages, type Lookup, type StoredPage } from './stored-pages.js';

interface WaitingLookup extends Lookup {
  readonly resolve: (page: StoredPage) => void;
  readonly reject: (error: unknown) => void;
}

/** Look-ups in one command. With more, MongoDB and the service wait for one another in turns. */
const TOGETHER_MAX = 4;

/** How a shared command can fail where one for each look-up, with more time, may not. */
const ASK_ALONE_AFTER = new Set(['database_timeout', 'database_unavailable']);

/** After a shared command that failed, each look-up has a command of its own for a while. */
const APART_FOR_MS = 1_000;

/**
 * Reads pages from MongoDB. Look-ups that arrive in one turn of the event loop share a command, since most of what a
 * small one costs is the command itself.
 */
@Injectable()
export class PageReader {
  private readonly pages = new StoredPages(this.database);
  private waiting: WaitingLookup[] = [];
  private apartUntil = -Infinity;

  constructor(private readonly database: Database) {}

  /** @throws Problem when MongoDB can't answer (in time) */
  read(scope: Scope, query: MarketsQuery): Promise<StoredPage> {
    const match = { $match: { ...conditionsOf(query), ...scope } };
    return new Promise((resolve, reject) => {
      this.waiting.push({ match, query, resolve, reject });
      if (this.waiting.length === 1) setImmediate(() => this.sendWaiting());
    });
  }

  private sendWaiting(): void {
    const { waiting } = this;
    this.waiting = [];
    const isShared = this.database.topology.hasSnapshots && performance.now() >= this.apartUntil;
    const together = isShared ? TOGETHER_MAX : 1;
    for (let first = 0; first < waiting.length; first += together) {
      const lookups = waiting.slice(first, first + together);
      const { markets, pagesTogether } = READ_BUDGET_MS;
      void this.send(lookups, lookups.length === 1 ? markets : pagesTogether);
    }
  }

  private async send(lookups: readonly WaitingLookup[], budgetMs: number): Promise<void> {
    try {
      const pages = await this.database.read(budgetMs, (attempt) =>
        this.pages.read(lookups, attempt),
      );
      lookups.forEach(({ resolve }, index) => resolve(pages[index] ?? NO_MARKETS));
    } catch (error) {
      if (lookups.length === 1 || !isWorthAskingAlone(error)) {
        for (const { reject } of lookups) reject(error);
        return;
      }
      // Each is read again alone, so that a slow look-up makes no other one fail.
      this.apartUntil = performance.now() + APART_FOR_MS;
      const timeLeft = READ_BUDGET_MS.markets - budgetMs;
      for (const lookup of lookups) void this.send([lookup], timeLeft);
    }
  }
}

function isWorthAskingAlone(error: unknown): boolean {
  return error instanceof Problem && ASK_ALONE_AFTER.has(error.code);
}
