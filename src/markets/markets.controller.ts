import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import type { ApiRequest } from '../common/api-request.js';
import { Input } from '../common/input.js';
import { ApiMarketsPage } from './api-markets-page.decorator.js';
import { EventLookup, FixtureLookup } from './markets-query.dto.js';
import { MarketsService } from './markets.service.js';
import { sendAnswer } from './send-answer.js';

@ApiTags('Markets')
@Controller('v1/markets/market')
export class MarketsController {
  constructor(private readonly markets: MarketsService) {}

  @Get('provider/:eventId')
  @ApiMarketsPage("List the markets of an event, by the provider's event id")
  async byEvent(
    @Input() lookup: EventLookup,
    @Req() request: ApiRequest,
    @Res() response: Response,
  ): Promise<void> {
    const { eventId } = lookup;
    await sendAnswer(request, response, await this.markets.page({ eventId }, lookup));
  }

  @Get('fixture/:fixtureId')
  @ApiMarketsPage("List the markets of a fixture, by the service's own fixture id")
  async byFixture(
    @Input() lookup: FixtureLookup,
    @Req() request: ApiRequest,
    @Res() response: Response,
  ): Promise<void> {
    const { fixtureId } = lookup;
    await sendAnswer(request, response, await this.markets.page({ fixtureId }, lookup));
  }
}
