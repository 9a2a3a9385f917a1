import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { within } from '../common/within.js';
import { databaseTimeout } from '../database/read-errors.js';
import type { KeyedRequest } from '../http/api-request.js';
import { Input } from '../http/input/input.js';
import { ApiMarketsPage } from './api-markets-page.decorator.js';
import { EventLookup, FixtureLookup, MarketsQuery } from './markets-query.dto.js';
import { MarketsService } from './markets.service.js';
import type { Scope } from './scope.js';
import { FastPath } from './fast-path.js';
import { sendPage } from './send-answer.js';
import { UnsentAnswers } from './unsent-answers.js';

/** A request is answered within this time of its arrival, its wait in the queue included. Milliseconds. */
const LOOKUP_WITHIN_MS = 1_900;

@ApiTags('Markets')
@Controller('v1/markets/market')
export class MarketsController {
  constructor(
    private readonly markets: MarketsService,
    private readonly fastPath: FastPath,
    private readonly unsent: UnsentAnswers,
  ) {}

  @Get('provider/:eventId')
  @ApiMarketsPage("List the markets of an event, by the provider's event id")
  async byEvent(
    @Input() lookup: EventLookup,
    @Req() request: KeyedRequest,
    @Res() response: Response,
  ): Promise<void> {
    await this.send(request, response, `eventId:${lookup.eventId}`, lookup);
  }

  @Get('fixture/:fixtureId')
  @ApiMarketsPage("List the markets of a fixture, by the service's own fixture id")
  async byFixture(
    @Input() lookup: FixtureLookup,
    @Req() request: KeyedRequest,
    @Res() response: Response,
  ): Promise<void> {
    await this.send(request, response, `fixtureId:${lookup.fixtureId}`, lookup);
  }

  private async send(
    request: KeyedRequest,
    response: Response,
    scope: Scope,
    query: MarketsQuery,
  ): Promise<void> {
    const leftMs = request.startedAt + LOOKUP_WITHIN_MS - performance.now();
    const page = this.markets.page(scope, query);
    const { answer, source } = await within(leftMs, page, databaseTimeout);
    if (source === 'memory') this.fastPath.remember(request, scope, query);
    this.unsent.add(request, response, [answer.body]);
    request.served = { source, items: answer.items };
    await sendPage(request, response, answer);
  }
}
