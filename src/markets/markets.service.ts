import { Injectable } from '@nestjs/common';
import { PageAnswer } from './page-answer.js';
import { isComparable } from './cache/id-order.js';
import { MarketCache } from './cache/market-cache.js';
import { marketJson } from './market-view.js';
import type { MarketsQuery } from './markets-query.dto.js';
import { PageReader } from './page-reader.js';
import type { Scope } from './scope.js';

@Injectable()
export class MarketsService {
  constructor(
    private readonly cache: MarketCache,
    private readonly reader: PageReader,
  ) {}

  /**
   * One page of the markets under a scope, and how many there are in all: both of one state of the data.
   * @throws Problem when MongoDB must be asked and can't answer (in time)
   */
  async page(scope: Scope, query: MarketsQuery) {
    const cached = isComparable(JSON.stringify(query))
      ? (this.cache.recall(scope, query) ?? (await this.cache.recallAfterLoad(scope, query)))
      : undefined;
    if (cached) return { answer: cached, source: 'memory' as const };
    const { markets, itemCount } = await this.reader.read(scope, query);
    const answer = new PageAnswer(query, markets.map(marketJson), itemCount);
    return { answer, source: 'database' as const };
  }
}
